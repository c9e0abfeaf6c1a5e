// A summary of a recording for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/recording/played_program.hpp"
#include "models/recording/recording.hpp"

namespace gangway::recording {

// Warm-up is excluded, except from `submissions`, `memory` and `graphs_without_nodes`.
struct Summary {
  std::int64_t submissions = 0;  // in the whole recording
  std::int64_t jobs = 0, warm_up = 0;
  Duration median, p90, shortest, longest;  // of jobs; 0 if there are none
  std::int64_t outliers = 0;                // jobs of more than 1.5 times the 90th percentile
  std::int64_t longest_job = 0;             // the first of them, counted as in `jobs: {from: ..., to: ...}`
  std::int64_t overlapping_jobs = 0;        // that begin before an earlier one of their thread has ended
  Duration overlapping_work;                // for which a stream's work runs beside earlier work of it
  Duration unplayed;  // work between the first job and the last that belongs to none (timing.hpp); 0 if below
                      // a hundredth of all
  double submissions_of_job = 0,
         kernels_of_job = 0;  // medians; kernels of graphs count if known

  // Shares of the time in which a job is under way. A GPU is held up by the host while it is idle and its
  // next work is not yet submitted. The rest is neither: latencies, work of other GPUs, waits for the
  // program.
  struct OfGpu {
    Index gpu = 0;
    Duration under_way, busy, waits_for_host;
    Bytes most_memory;  // held at once
    double share(Duration part) const {
      return under_way.ns > 0 ? static_cast<double>(part.ns) / static_cast<double>(under_way.ns) : 0;
    }
    // So busy that nothing else holds it up much.
    bool busy_most() const { return share(busy) >= 0.75; }
    bool held_up_by_host() const {
      return !busy_most() && waits_for_host > Duration{} &&
             waits_for_host >= under_way - busy - waits_for_host;
    }
  };
  std::vector<OfGpu> gpus;  // GPUs used

  struct OfKernel {
    std::string name;  // for a graph: graph N
    std::int64_t launches = 0;
    Duration total;
  };
  std::vector<OfKernel> kernels;  // by total time, longest first; graphs as a whole

  struct OfCopies {
    std::int64_t count = 0;
    Bytes bytes;
    Duration total;
  };
  std::map<std::string, OfCopies> copies;  // by direction: "to the GPU"

  std::int64_t graphs = 0, graphs_without_nodes = 0;
};

Summary summarise(const Recording& recording);

// Of a GPU at least. Then jobs take longer because they are recorded.
bool host_is_bottleneck(const Summary& summary);

// What the program held at once in a GPU's own memory. 0 B: nothing is known of its memory.
Bytes most_memory(const Recording& recording, Index gpu);

// The lower of two. 0 if there are none.
Duration median_of(std::vector<Duration> times);

// Of all the program's jobs, as recorded.
Duration median_job(const PlayedProgram& program);

// Text for a terminal.
std::string to_text(const Recording& recording, const Summary& summary);

// A kernel's readable name, without parameters.
std::string plain_name(const std::string& mangled);

}  // namespace gangway::recording

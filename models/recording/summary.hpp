// What a person wants to know of a recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/recording/recording.hpp"

namespace gangway::recording {

// The warm-up is left out of everything but `submissions`, `memory` and `graphs_without_nodes`.
struct Summary {
  std::int64_t submissions = 0;  // of the whole recording
  std::int64_t jobs = 0, warm_up = 0;
  Duration median, p90, shortest, longest;  // of jobs; 0 where there are none
  double submissions_of_job = 0,
         kernels_of_job = 0;  // medians; the kernels of graphs count where they are known

  // Of the time in which a job is under way. The host holds a GPU up while it is idle and the work that it
  // does next is not submitted yet; the rest is neither: latencies, work of other GPUs, waits for the
  // program.
  struct OfGpu {
    Index gpu = 0;
    Duration under_way, busy, waits_for_host;
    Bytes most_memory;  // held at once
    double share(Duration part) const {
      return under_way.ns > 0 ? static_cast<double>(part.ns) / static_cast<double>(under_way.ns) : 0;
    }
  };
  std::vector<OfGpu> gpus;  // those that were used

  struct OfKernel {
    std::string name;  // a graph's: graph N
    std::int64_t launches = 0;
    Duration total;
  };
  std::vector<OfKernel> kernels;  // the longest in total first; graphs as wholes

  struct OfCopies {
    std::int64_t count = 0;
    Bytes bytes;
    Duration total;
  };
  std::map<std::string, OfCopies> copies;  // by direction: "to the GPU"

  std::int64_t graphs = 0, graphs_without_nodes = 0;
};

Summary summarise(const Recording& recording);

// As lines for a terminal.
std::string to_text(const Recording& recording, const Summary& summary);

// The name of a kernel as people write it, without its parameters.
std::string plain_name(const std::string& mangled);

}  // namespace gangway::recording

// What a client plays if it is made of a recording.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/error.hpp"
#include "models/recording/played_program.hpp"

namespace gangway {

class Mechanism;
struct Kernel;

// A recorded kernel that can be preempted, and how.
struct LeavingKernel {
  std::shared_ptr<const Kernel> kernel;  // as launched; time: the recording's median
  std::shared_ptr<const Mechanism> form;
  bool sliced = true;  // it can also be launched in slices
};

// What a job takes alone when nobody records it, and where that is said: by the experiment on the average of
// the played jobs, by the recording's file as the median of all.
struct TimeAlone {
  Duration time;
  Origin origin;
  std::string path;
  bool of_recording = false;
};

struct Recorded {
  std::string file;
  recording::Gpu gpu;   // that it was recorded on
  bool beside = false;  // with other work on that GPU
  std::shared_ptr<const recording::PlayedProgram> program;
  recording::Index from = 0, to = 0;    // jobs of the program: [from, to)
  bool drawn = false;                   // at random, with replacement; else in order, cyclically
  bool once = false;                    // at its own pace: each timeline begins each job once, then stops
  bool own_pace = true;                 // the program decides when jobs begin; else they are released
  double kernel_scale = 1;              // factor on recorded kernel times
  double host_scale = 1;                // factor on host times between waits
  bool host_scale_given = false;        // by the experiment
  std::optional<TimeAlone> unrecorded;  // what host_scale follows from, if it is given
  // Means over the played jobs, with nothing else on the machine: time of a job, time of it on the GPU, and
  // time between job ends (see below).
  Duration job, busy, between_ends;
  bool busy_unknown = false;  // policies are not told
  // By launch of the recording, empty for others; none: no kernel can be preempted.
  std::vector<LeavingKernel> leaving = {};
  std::vector<Duration> scaled = {};  // per job of the program, if scales are not 1

  // Some kernels can leave early.
  bool has_forms() const {
    return std::any_of(leaving.begin(), leaving.end(),
                       [](const LeavingKernel& kernel) { return kernel.form != nullptr; });
  }
  // How long a job takes with nothing else on the machine.
  Duration alone(recording::Index played) const {
    return scaled.empty() ? program->jobs[played].length : scaled[played];
  }
};

// Of so many jobs at the program's own pace, in `span` from the first begin to the last end: the mean
// distance of an end from the one before, if there is time between jobs, else the span divided by the jobs.
inline Duration between_ends(Duration span, Duration job, std::int64_t jobs) {
  if (jobs <= 1) return job;
  const Duration ends{(span - job).ns / (jobs - 1)};
  return ends >= job ? ends : Duration{span.ns / jobs};
}

}  // namespace gangway

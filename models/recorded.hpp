// What a client plays that is made of a recording.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/recording/played_program.hpp"

namespace gangway {

class Mechanism;
struct Kernel;

// A kernel of a recording that can leave before its end, and how.
struct LeavingKernel {
  std::shared_ptr<const Kernel> kernel;  // as launched; its time is the median of the recording's
  std::shared_ptr<const Mechanism> form;
};

struct Recorded {
  std::string file;
  recording::Gpu gpu;   // on which it was recorded
  bool beside = false;  // with other work on that GPU
  std::shared_ptr<const recording::PlayedProgram> program;
  recording::Index from = 0, to = 0;  // jobs of the program: from this one up to, not including, that
  bool drawn = false;       // at random among those, with replacement; else in order, again and again
  bool once = false;        // at its own pace: each timeline begins each of its jobs once, and stops
  bool own_pace = true;     // jobs begin as the program comes to them; else when they are released
  double kernel_scale = 1;  // kernels take so many times as long as recorded
  double host_scale = 1;    // likewise what the host does between its waits
  // Mean over the jobs that are played, with nothing else on the machine: of a job, of the time in which it
  // is on the GPU, and from one job's end to the next one's.
  Duration job, busy, between_ends;
  bool busy_unknown = false;  // policies are not told
  std::vector<LeavingKernel> leaving =
      {};                             // by launch of the recording, empty ones cannot; none: no kernel can
  std::vector<Duration> scaled = {};  // of each of the program's jobs, where scales are not 1

  // How long a job takes with nothing else on the machine.
  Duration alone(recording::Index played) const {
    return scaled.empty() ? program->jobs[played].length : scaled[played];
  }
};

}  // namespace gangway

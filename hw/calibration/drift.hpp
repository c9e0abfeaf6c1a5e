// Jobs that took longer for a while: on an H200 two of thirteen kernels did by 5 and 9 %, for 0.1 to 0.2 s,
// perhaps since the GPU's clock fell. The model knows nothing of the kind.
#pragma once

#include <vector>

namespace gangway {

// A job of a kernel. All jobs do the same work.
struct JobTime {
  bool evicted = false;  // once; or never
  double ns = 0;         // on the device, over all launches
};

// Factors by which jobs, in the order in which they ran, were slower than the quickest tenth of their kind.
// Each is the median of what the job and its neighbours show, so a factor does not follow single jobs. All
// are 1 unless some are above 1.02 (of `time`, the kernel's time in ns), whole jobs alone show such a rise,
// and neighbours tell a job's time, which they do not where it is one or the other of two at random.
std::vector<double> slowdowns(const std::vector<JobTime>& jobs, double time);

}  // namespace gangway

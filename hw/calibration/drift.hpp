// Jobs that took longer for a while. A GPU's clock falls as the GPU nears its power limit, so kernels that
// compute much take up to a tenth longer for tens of milliseconds. Gangway's model has no such clock.
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
// are 1 unless some are above 1.02 (of `time`, the kernel's time in ns), and unless the neighbours of jobs
// tell their times, which they do not where a job takes one or the other time at random.
std::vector<double> slowdowns(const std::vector<JobTime>& jobs, double time);

}  // namespace gangway

// A launch whose call has succeeded, and of which the driver refuses a part for good: later calls tell the
// program so, as the driver's do of a kernel that has failed.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <atomic>
#include <string>

namespace gangway::intercept {

extern std::atomic<int> error_of_failed_launch;  // the first one's; CUDA_SUCCESS: there is none

inline CUresult failed_launch() { return static_cast<CUresult>(error_of_failed_launch.load()); }
// Calls that submit or wait fail from now on, and a line on stderr says why.
void launch_failed(const std::string& kernel, CUresult error);

}  // namespace gangway::intercept

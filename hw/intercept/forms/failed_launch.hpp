// Launches whose call succeeded, but of which the driver finally refuses a part: later calls return the error
// to the program, as the driver's own do after a kernel has failed.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <atomic>
#include <string>

namespace gangway::intercept {

extern std::atomic<int> error_of_failed_launch;  // of the first one; CUDA_SUCCESS: there is none

inline CUresult failed_launch() { return static_cast<CUresult>(error_of_failed_launch.load()); }
// Calls that submit or wait fail from now on, and a line on stderr says what the driver `refused`.
void launch_failed(const std::string& refused, CUresult error);

}  // namespace gangway::intercept

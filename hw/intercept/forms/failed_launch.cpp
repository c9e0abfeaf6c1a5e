#include "hw/intercept/forms/failed_launch.hpp"

#include <cstdio>

namespace gangway::intercept {

constinit std::atomic<int> error_of_failed_launch{CUDA_SUCCESS};

void launch_failed(const std::string& refused, CUresult error) {
  int none = CUDA_SUCCESS;
  if (!error_of_failed_launch.compare_exchange_strong(none, error)) return;
  std::fprintf(stderr,
               "gangway: the driver refuses %s (error %d): calls that submit or wait end with that error\n",
               refused.c_str(), static_cast<int>(error));
}

}  // namespace gangway::intercept

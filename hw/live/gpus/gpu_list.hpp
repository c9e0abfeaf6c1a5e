// The GPUs of this machine, as the driver lists them, and those that a daemon schedules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/live/gpus/gpu_name.hpp"

namespace gangway::live {

struct GpuFacts {
  unsigned number = 0;    // the driver's, in the daemon's environment
  GpuUuid uuid = kNoGpu;  // zeros: the driver was not asked
  std::string name;
  std::uint64_t memory = 0;  // bytes in all; 0: not known
};

// RunError if there is no driver or no GPU, or the driver does not say what one is.
std::vector<GpuFacts> gpus_of_driver();

// The GPUs that a list such as "0,2", "all" or "1" names. InputError (for `option`) if it has a wrong or
// repeated number.
std::vector<GpuFacts> chosen_gpus(const std::string& option, const std::string& list,
                                  const std::vector<GpuFacts>& all);
// Whether the list is one number, which needs no driver.
bool one_gpu(const std::string& list);

}  // namespace gangway::live

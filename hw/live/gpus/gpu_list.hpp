// The GPUs of this machine, as the driver lists them, and those that a daemon schedules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/driver_facts.hpp"
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
std::vector<GpuFacts> gpus_of(const DriverFacts& driver);  // likewise, without asking it again

// The GPUs that a list such as "0,2", "all" or "1" names. InputError (for `option`) if it has a wrong or
// repeated number.
std::vector<GpuFacts> chosen_gpus(const std::string& option, const std::string& list,
                                  const std::vector<GpuFacts>& all);
// InputError (for `option`) if the driver, which has at least one GPU, has none of this number.
void check_number(const std::string& option, unsigned number, const DriverFacts& driver);
// Whether the list is one number, which needs no driver.
bool one_gpu(const std::string& list);

}  // namespace gangway::live

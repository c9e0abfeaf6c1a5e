// The GPUs of this machine, as the driver lists them, and those of them that a daemon is to schedule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/live/gpus/gpu_name.hpp"

namespace gangway::live {

struct GpuFacts {
  unsigned number = 0;    // as the driver counts in the daemon's environment
  GpuUuid uuid = kNoGpu;  // zeros: nobody asked the driver
  std::string name;
  std::uint64_t memory = 0;  // bytes in all; 0: not known
};

// Asks the driver in a process of its own, so that this one never starts it: a process that did cannot fork
// others that use it. RunError if there is no driver or no GPU.
std::vector<GpuFacts> gpus_of_driver();

// "0,2", "all", or "1", of those. InputError (for `option`) for what is no list of different numbers of them.
std::vector<GpuFacts> chosen_gpus(const std::string& option, const std::string& list,
                                  const std::vector<GpuFacts>& all);
// Whether the list asks for one GPU by its number: that needs no driver.
bool one_gpu(const std::string& list);

}  // namespace gangway::live

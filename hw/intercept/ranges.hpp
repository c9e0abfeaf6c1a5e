// Reports the program's NVTX ranges to the gate.
#pragma once

#include "hw/live/gate.hpp"

namespace gangway::intercept {

// Reports ranges named `name`, or DOMAIN/NAME, that are pushed on a thread or started. Requires that the
// program's NVTX finds this library by NVTX_INJECTION64_PATH. `name` must outlive the process's other
// threads.
void watch_ranges(live::Gate& gate, const char* name);

}  // namespace gangway::intercept

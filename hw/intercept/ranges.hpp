// NVTX ranges of the program, told to the gate.
#pragma once

#include "hw/live/gate.hpp"

namespace gangway::intercept {

// From now on, if the program's NVTX finds this library by NVTX_INJECTION64_PATH: ranges of that name, which
// are pushed on a thread or started, or DOMAIN/NAME. `name` must outlive the process's other threads.
void watch_ranges(live::Gate& gate, const char* name);

}  // namespace gangway::intercept

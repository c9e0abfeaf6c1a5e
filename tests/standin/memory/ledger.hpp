// How much memory of each of the machine's devices is taken: by this process, or by all that name the same
// file (STANDIN_LEDGER; of device N from 1 on with .N behind it), which then share the devices' memory. Under
// the driver's lock.
#pragma once

#include <cstddef>

namespace gangway::standin {

std::size_t memory_size();  // of each device
// Fails with OUT_OF_MEMORY where the device has no room, which it counts.
void ledger_take(unsigned physical, std::size_t);
void ledger_give(unsigned physical, std::size_t);
std::size_t ledger_used(unsigned physical);  // by all processes that are there

}  // namespace gangway::standin

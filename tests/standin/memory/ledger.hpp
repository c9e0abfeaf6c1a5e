// How much device memory is taken: of this process, or of all that name the same file (STANDIN_LEDGER), which
// then share one device's memory. Under the driver's lock.
#pragma once

#include <cstddef>

namespace gangway::standin {

std::size_t memory_size();      // of the device
void ledger_take(std::size_t);  // fails with OUT_OF_MEMORY where the device has no room, which it counts
void ledger_give(std::size_t);
std::size_t ledger_used();  // by all processes that are there

}  // namespace gangway::standin

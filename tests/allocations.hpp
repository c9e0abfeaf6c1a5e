// How often the calling thread has asked for memory: a measure of work that is the same on every machine, and
// under any load. Sanitizers have their own allocators: nothing is counted there.
#pragma once

#include <cstdint>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GANGWAY_COUNTS_ALLOCATIONS
#endif

namespace gangway::testing {

std::int64_t allocations();  // always 0 where they are not counted

}  // namespace gangway::testing

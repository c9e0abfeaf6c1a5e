// How much of the host's memory can be pinned.
#pragma once

#include <cstdint>

namespace gangway::live {

// Bytes that this machine has available now, or this process's control group if that is less.
std::uint64_t host_memory_left();
// Likewise, that it has in all.
std::uint64_t host_memory_in_all();
// Bytes: 80 % of what is available now to the machine, or to this process's control group if that is less.
std::uint64_t host_memory_to_pin();

}  // namespace gangway::live

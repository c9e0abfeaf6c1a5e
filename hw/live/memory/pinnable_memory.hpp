// How much of the host's memory can be pinned.
#pragma once

#include <cstdint>

namespace gangway::live {

// Bytes: 80 % of what is available now to the machine, or to this process's control group if that is less.
std::uint64_t host_memory_to_pin();

}  // namespace gangway::live

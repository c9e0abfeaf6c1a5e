// How much of the host's memory can be pinned.
#pragma once

#include <cstdint>

namespace gangway::live {

// Bytes: 80 % of what is available now, to the machine and to this process's control group.
std::uint64_t host_memory_to_pin();

}  // namespace gangway::live

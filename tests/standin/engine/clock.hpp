// Device time in ns: real time, faster or slower by STANDIN_SPEED, or what the file says that STANDIN_CLOCK
// names.
#pragma once

#include <cstdint>

namespace gangway::standin {

std::uint64_t now_ns();
void sleep_ns(std::uint64_t duration);

}  // namespace gangway::standin

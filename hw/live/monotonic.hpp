// The clock shared by the daemon and its clients.
#pragma once

#include <time.h>

#include <cstdint>

namespace gangway::live {

// CLOCK_MONOTONIC, ns.
inline std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

}  // namespace gangway::live

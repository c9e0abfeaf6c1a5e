// Ways for a thread to wait for another process.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

namespace gangway::live {

// For threads that poll.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  sched_yield();
#endif
}

// Sleeps less than a second, in ns; a signal may end it early.
inline void sleep_ns(std::int64_t ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

}  // namespace gangway::live

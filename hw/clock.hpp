// The scheduler's clock: monotonic, without a system call where possible.
#pragma once

#include <time.h>

#include <chrono>

#include "models/quantity.hpp"

namespace gangway {

struct HostClock {
  struct Instant {
    std::int64_t ns = 0;
    friend Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
    friend auto operator<=>(Instant, Instant) = default;
    Instant operator+(Duration d) const { return {ns + d.ns}; }
  };
  static Instant now() {
    return {std::chrono::duration_cast<std::chrono::nanoseconds>(
                std::chrono::steady_clock::now().time_since_epoch())
                .count()};
  }
};

// The executor's clock; tests substitute their own.
class SchedulerClock {
 public:
  virtual ~SchedulerClock() = default;
  virtual HostClock::Instant now() const { return HostClock::now(); }
  // Processor time of the calling thread so far.
  virtual Duration processor_time() const {
    timespec time{};
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0
               ? Duration{time.tv_sec * 1'000'000'000 + time.tv_nsec}
               : Duration{};
  }
};

// Gives way briefly to the core's sibling, or to a thread waiting for this core.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace gangway

// Ways for a thread to wait for another process.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

// For threads that poll for long; call it where there are many cores (cores.hpp). On busy cores Linux keeps a
// thread that yields waiting for milliseconds. So its turns are short, which brings it back sooner (from
// Linux 6.12 on). `heavy`: and it has more weight where the process may give it that (CAP_SYS_NICE). Not
// inherited; nothing happens if somebody has set its priority.
inline void poll_attentively(bool heavy) {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t slice, deadline, period;
  } attributes{};                                              // struct sched_attr
  constexpr std::uint64_t kResetOnFork = 1, kSlice = 100'000;  // ns, the shortest that Linux allows
  constexpr std::int32_t kNice = -10;
  attributes.size = sizeof attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER || attributes.nice != 0)
    return;
  attributes.flags = kResetOnFork;
  attributes.slice = kSlice;
  attributes.nice = heavy ? kNice : 0;
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0) return;
  attributes.nice = 0;
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

}  // namespace gangway::live

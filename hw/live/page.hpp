// What the daemon and a client share: two memory files, each written by one side only, without locks. The
// permit page belongs to the daemon; the client page to the client (and the GPU, which writes marks into it).
// Neither side trusts the other: what is read is read once, and no index or size is taken from it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hw/live/memory/memory_page.hpp"

namespace gangway::live {

inline constexpr std::uint32_t kVersion = 5;
inline constexpr std::uint32_t kThreads = 256;   // slots; more threads share a counter
inline constexpr std::uint32_t kStreams = 1024;  // with work on them at once
inline constexpr std::uint32_t kUnlimited = UINT32_MAX;
inline constexpr std::uint32_t kIntercepted = UINT32_MAX - 1;
inline constexpr std::uint32_t kMostInFlight = 64;  // that a permit limits to
inline constexpr std::uint32_t kMostAsked =
    4096;  // intercepted submissions that wait at once; one for each thread
inline constexpr std::uint32_t kBuckets = 24;     // bucket b: [2^b, 2^(b+1)) ns
inline constexpr std::uint32_t kJobs = 16384;     // the latest, whose times are kept
inline constexpr std::uint32_t kReleases = 1024;  // told ahead

// When jobs may begin, where that is not the program's own affair. Jobs are counted as on the client page.
struct Releases {
  enum Kind : std::uint32_t {
    own,    // as they come
    after,  // from `since` on, and `think` after the last one's end
    timed,  // each at its time in `due`
  };
  std::atomic<std::uint32_t> kind;
  std::atomic<std::uint64_t> count;          // jobs released so far, all those before included; not for `own`
  std::atomic<std::int64_t> since, think;    // CLOCK_MONOTONIC, ns
  std::atomic<std::int64_t> due[kReleases];  // of job j at j % kReleases
};

// Written by the daemon.
struct alignas(64) PermitPage {
  std::atomic<std::uint32_t>
      allowed;  // 0: closed; kUnlimited: open; kIntercepted; n: open, at most n submissions in flight
  std::atomic<std::uint32_t> polled;  // the daemon looks by itself: no bell needed
  // An intercepted submission takes a number, and waits until that is admitted.
  std::atomic<std::uint32_t> epoch;  // of permits: numbers of an earlier one are void
  std::atomic<std::uint64_t> admitted;
  std::atomic<std::uint32_t> most_channels;  // 0: any number; n: n - 1, and with none nothing is submitted
  std::atomic<std::int64_t> decided;         // when `allowed` was last written (CLOCK_MONOTONIC, ns)
  Releases releases;
  MemoryOrders memory;
};

// Times of one job that is counted (CLOCK_MONOTONIC, ns).
struct JobSlot {
  std::atomic<std::uint64_t> number;  // of the job, from 1, once `arrived` is about it
  std::atomic<std::int64_t> arrived;  // it was due, or where no releases are told: its first submission came
  std::atomic<std::int64_t> begun;    // its first submission passed the gate; 0: it has not
  std::atomic<std::int64_t> ended;    // once `counted` says so
};

// One thread. It marks itself inside, then reads the permit, submits, marks itself outside.
struct alignas(64) ThreadSlot {
  std::atomic<std::uint32_t> inside;
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint64_t> submissions;  // of threads that had this slot
};

// One stream with submissions: of those that began, so many are known to be over. A submission is counted
// before its call, next to the thread's mark: a locked instruction behind the call would wait until the
// doorbell that the driver has just rung is through.
struct alignas(64) StreamSlot {
  std::atomic<std::uint64_t> stream;   // 0: free
  std::atomic<std::uint64_t> context;  // of the first submission
  std::atomic<std::uint64_t> begun;
  std::atomic<std::uint64_t> known;

  std::uint64_t outstanding() const {
    const std::uint64_t over = known.load(std::memory_order_acquire),
                        all = begun.load(std::memory_order_acquire);
    return all > over ? all - over : 0;
  }
  void over(std::uint64_t count) {
    std::uint64_t before = known.load();
    while (before < count && !known.compare_exchange_weak(before, count)) {
    }
  }
};

// Written by the client.
struct alignas(64) ClientPage {
  std::atomic<std::uint32_t> waiting;   // threads held at the gate
  std::atomic<std::uint32_t> crowd;     // threads inside that have no slot
  std::atomic<std::uint32_t> slots;     // of threads, ever used
  std::atomic<std::uint32_t> streams;   // slots ever used
  std::atomic<std::uint32_t> forced;    // submissions that passed over `in_flight` since nothing else went on
  std::atomic<std::uint32_t> whole;     // its job is the whole program
  std::atomic<std::uint32_t> channels;  // streams and contexts that the program has made
  std::atomic<std::uint32_t>
      unknown;  // functions of the driver that the program found and the gate does not know
  std::atomic<std::uint32_t> orphaned;  // times that its daemon was gone, and how long in all
  std::atomic<std::int64_t> orphaned_ns;
  std::atomic<std::uint64_t> asked;            // numbers that intercepted submissions have taken
  alignas(64) std::atomic<std::uint64_t> job;  // what is scheduled as one; odd: under way
  // Jobs as the program's user means them (gate.hpp, JobsAre). Odd: one is under way; those over are half of
  // it.
  std::atomic<std::uint64_t> counted;
  alignas(64) std::atomic<std::uint64_t> held;  // submissions that had to wait
  std::atomic<std::uint64_t> held_ns;
  std::atomic<std::uint64_t> woken[kBuckets];  // from the decision to the held submission's going on
  MemoryStanding memory;
  ThreadSlot threads[kThreads];
  StreamSlot stream[kStreams];
  JobSlot jobs[kJobs];  // job j (from 0) at j % kJobs

  std::uint64_t inside() const {
    std::uint64_t sum = crowd.load();
    for (std::uint32_t t = 0, n = slots_used(); t < n; ++t) sum += threads[t].inside.load();
    return sum;
  }
  // Only valid after `allowed` was set to 0 with sequential consistency: whether no thread is about to
  // submit.
  bool nobody_inside() const { return inside() == 0; }
  std::uint32_t slots_used() const {
    const std::uint32_t n = slots.load();
    return n < kThreads ? n : kThreads;
  }
  std::uint32_t streams_used() const {
    const std::uint32_t n = streams.load(std::memory_order_acquire);
    return n < kStreams ? n : kStreams;
  }
  // Submissions that are not known to be over.
  std::uint64_t outstanding() const {
    std::uint64_t sum = 0;
    for (std::uint32_t s = 0, n = streams_used(); s < n; ++s) sum += stream[s].outstanding();
    return sum;
  }
  std::uint64_t submissions() const {
    std::uint64_t sum = 0;
    for (std::uint32_t t = 0, n = slots_used(); t < n; ++t)
      sum += threads[t].submissions.load(std::memory_order_relaxed);
    return sum;
  }
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace gangway::live

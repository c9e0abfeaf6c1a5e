// Memory shared by the daemon and a client: two files, each written by one side, without locks. The daemon
// writes the permit page; the client, and the GPU with its marks, the client page. Neither side trusts the
// other: every value is read once, and none is used as an index or size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hw/live/gpus/gpu_name.hpp"
#include "hw/live/memory/memory_page.hpp"

namespace gangway::live {

inline constexpr std::uint32_t kVersion = 17;
inline constexpr std::uint32_t kThreads = 256;   // slots; further threads share counters
inline constexpr std::uint32_t kStreams = 1024;  // with outstanding work; the last slot is shared
inline constexpr std::uint32_t kUnlimited = UINT32_MAX;
inline constexpr std::uint32_t kIntercepted = UINT32_MAX - 1;
inline constexpr std::uint32_t kNoChannels = UINT32_MAX;
inline constexpr std::int32_t kMostPriority = 1000;
inline constexpr std::uint32_t kMostInFlight = 64;  // largest limit in a permit
// Intercepted submissions that can wait at once, one for each thread.
inline constexpr std::uint32_t kMostAsked = 4096;
inline constexpr std::uint32_t kBuckets = 24;     // bucket b: [2^b, 2^(b+1)) ns
inline constexpr std::uint32_t kJobs = 16384;     // the latest ones, whose times are kept
inline constexpr std::uint32_t kReleases = 1024;  // announced ahead
inline constexpr std::uint32_t kLongestKernel = 128;
inline constexpr std::uint32_t kDepartures = 1024;  // the latest ones, whose times are kept

// When jobs may begin, unless the program decides. Jobs are counted as on the client page.
struct Releases {
  enum Kind : std::uint32_t {
    own,    // at any time
    after,  // from `since` on, and `think` after the previous one's end
    timed,  // each at its time in `due`
  };
  std::atomic<std::uint32_t> kind;
  std::atomic<std::uint64_t> count;          // jobs released so far, in total; unused for `own`
  std::atomic<std::int64_t> since, think;    // CLOCK_MONOTONIC, ns
  std::atomic<std::int64_t> due[kReleases];  // of job j at j % kReleases
};

// Kernels that are launched in slices of their blocks, one after the other. Numbers count the client's, from
// 1.
struct SliceOrders {
  static constexpr std::uint64_t both(std::uint32_t kernel, std::uint32_t blocks) {
    return std::uint64_t{kernel} << 32 | blocks;
  }
  std::atomic<std::uint32_t> wanted;  // 0: launches take forms that leave when told to
  std::atomic<std::uint64_t> until;   // a kernel and the block to stop before, while the gate is open
};

// The first unfinished sliced kernel that its stream has reached.
struct SliceStanding {
  std::atomic<std::uint64_t> at;  // its number and the blocks done (SliceOrders::both); 0: there is none
  // Valid while `at` has the same number before and after.
  std::atomic<std::uint32_t> kernel;            // equal for launches of one kernel with grids of one size
  std::atomic<std::uint32_t> blocks, resident;  // of the grid; at once on the device
  std::atomic<std::int64_t> time;               // of the whole grid, ns; 0: not known
  std::atomic<std::uint64_t> launched;          // slices, of all kernels
};

// Written by the daemon.
struct alignas(64) PermitPage {
  // 0: closed; kUnlimited: open; kIntercepted; n: open, at most n submissions in flight.
  std::atomic<std::uint32_t> allowed;
  std::atomic<std::uint32_t> polled;   // the daemon polls; no bell needed
  std::atomic<std::uint32_t> company;  // other clients are on the GPU: the gate may close at any moment
  // An intercepted submission takes a number and waits until that is admitted.
  std::atomic<std::uint32_t> epoch;  // of permits: numbers of earlier epochs are void
  std::atomic<std::uint64_t> admitted;
  // While it is open, only for jobs (ClientPage::job) up to this one; 0: for any.
  std::atomic<std::uint64_t> last_job;
  // 0: any number; n: n - 1, and with 1 nothing can be submitted; kNoChannels: none, but it may submit.
  std::atomic<std::uint32_t> most_channels;
  std::atomic<std::uint32_t> forms;       // which launches take a form (TakeForms)
  std::atomic<std::int64_t> drain_limit;  // how long the daemon waits for a client to drain, ns; 0: unknown
  std::atomic<std::int64_t> decided;      // when it was last decided who may submit (CLOCK_MONOTONIC, ns)
  // Until then (likewise) the gate may open at any moment: waiting threads stay awake.
  std::atomic<std::int64_t> awake;
  Releases releases;
  MemoryOrders memory;
  SliceOrders slices;

  // As `allowed`, for a job. `last_job` is written before the gate opens, so it is read after that.
  std::uint32_t allows(std::uint64_t job) const {
    const std::uint32_t now = allowed.load();
    const std::uint64_t last = last_job.load();
    return last == 0 || job <= last ? now : 0;
  }
};

// Times of one counted job (CLOCK_MONOTONIC, ns).
struct JobSlot {
  static constexpr std::uint64_t kWritten = UINT64_MAX;  // right now, by the thread that begins the job
  std::atomic<std::uint64_t> number;                     // of the job, from 1; set once `arrived` is valid
  std::atomic<std::int64_t> arrived;  // when it was due; without releases: its first submission
  std::atomic<std::int64_t> begun;    // its first submission passed the gate; 0: not yet
  std::atomic<std::int64_t> ended;    // valid once `counted` says so
};

// One closing of the gate that made kernels leave before their end (CLOCK_MONOTONIC, ns).
struct DepartureSlot {
  std::atomic<std::uint64_t> number;            // from 1; set once the rest is valid
  std::atomic<std::int64_t> told, left, again;  // again: their remaining blocks launched; 0: not yet
  std::atomic<std::uint64_t> kernels;
};

// One thread. It marks itself inside, reads the permit, submits, and marks itself outside.
struct alignas(64) ThreadSlot {
  std::atomic<std::uint32_t> inside;
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint64_t> submissions;  // of all threads that have used this slot
};

// One stream: how many submissions began, and how many are known to be over. A submission is counted before
// its call, next to the thread's mark: a locked instruction after the call would wait for the doorbell write
// that the driver has just issued.
struct alignas(64) StreamSlot {
  std::atomic<std::uint64_t> stream;   // 0: free
  std::atomic<std::uint64_t> context;  // of the first submission
  std::atomic<std::uint64_t> begun;
  std::atomic<std::uint64_t> known;
  std::atomic<std::uint64_t> marked;  // of those begun, by the latest event; only for the client

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
  std::atomic<std::uint32_t> waiting;   // held at the gate
  std::atomic<std::uint32_t> crowd;     // inside, without a slot
  std::atomic<std::uint32_t> slots;     // of threads, ever used
  std::atomic<std::uint32_t> streams;   // of streams, ever used
  std::atomic<std::uint32_t> forced;    // submissions that exceeded `in_flight` for lack of progress
  std::atomic<std::uint32_t> whole;     // the job is the whole program
  std::atomic<std::uint32_t> ranges;    // its jobs are ranges
  std::atomic<std::uint32_t> channels;  // streams and contexts made
  // Driver functions that the program requested and functions.def (hw/intercept) does not list.
  std::atomic<std::uint32_t> unknown;
  std::atomic<std::uint64_t> crowd_submissions;  // of all threads without a slot
  std::atomic<std::uint32_t> orphaned;           // how often and how long it was without a daemon
  std::atomic<std::int64_t> orphaned_ns;
  // The priority that the program requested, and how often it requested one (0: never).
  std::atomic<std::int32_t> priority;
  std::atomic<std::uint32_t> priorities;
  // Kernels of loaded modules, with a form and without; launches in forms, and how often one has left before
  // its end.
  std::atomic<std::uint32_t> kernels_with_forms, kernels_without;
  std::atomic<std::uint64_t> formed, evictions;
  std::atomic<std::uint64_t> failed_launches;  // whose rest the driver refused for good
  std::atomic<std::uint64_t> departures;       // so far
  // Kernels that turned out to wait for later blocks of their grid, and the latest one's name.
  std::atomic<std::uint32_t> kernels_that_wait;
  std::atomic<char> that_waits[kLongestKernel];
  // The permit's epoch plus one, once the gate is closed and no work of the client runs: all outstanding work
  // waits behind kernels that have left.
  std::atomic<std::uint64_t> gone;
  std::atomic<std::uint64_t> asked;  // numbers taken by intercepted submissions
  // When its streams were last asked about for the daemon (CLOCK_MONOTONIC, ns), and whether work was on the
  // GPU then, which is written first.
  std::atomic<std::int64_t> looked;
  std::atomic<std::uint32_t> works;
  alignas(64) std::atomic<std::uint64_t> job;  // the scheduled job; odd: under way
  // Jobs by the user's definition (gate.hpp, JobsAre). Odd: one is under way. Half of it: jobs over.
  std::atomic<std::uint64_t> counted;
  alignas(64) std::atomic<std::uint64_t> held;  // submissions that had to wait
  std::atomic<std::uint64_t> held_ns;
  std::atomic<std::uint64_t> woken[kBuckets];  // time from the decision until the held submission continues
  MemoryStanding memory;
  SliceStanding slices;
  std::atomic<std::uint64_t> gpu[2];  // UUID of the GPU that it is on; written by the daemon and its helper
  ThreadSlot threads[kThreads];
  StreamSlot stream[kStreams];
  JobSlot jobs[kJobs];                   // job j (from 0) at j % kJobs
  DepartureSlot departure[kDepartures];  // departure d (from 0) at d % kDepartures

  void is_on(const GpuUuid& uuid) {
    std::uint64_t halves[2];
    std::memcpy(halves, uuid.data(), sizeof halves);
    for (int half : {0, 1}) gpu[half].store(halves[half]);
  }
  GpuUuid is_on() const {
    const std::uint64_t halves[2] = {gpu[0].load(), gpu[1].load()};
    GpuUuid uuid;
    std::memcpy(uuid.data(), halves, sizeof halves);
    return uuid;
  }

  std::uint64_t inside() const {
    std::uint64_t sum = crowd.load();
    for (std::uint32_t t = 0, n = slots_used(); t < n; ++t) sum += threads[t].inside.load();
    return sum;
  }
  // Whether no thread is about to submit. Valid only after `allowed` was set to 0 with sequential
  // consistency.
  bool nobody_inside() const { return inside() == 0; }
  std::uint32_t slots_used() const {
    const std::uint32_t n = slots.load();
    return n < kThreads ? n : kThreads;
  }
  std::uint32_t streams_used() const {
    const std::uint32_t n = streams.load(std::memory_order_acquire);
    return n < kStreams ? n : kStreams;
  }
  // Submissions not known to be over.
  std::uint64_t outstanding() const {
    std::uint64_t sum = 0;
    for (std::uint32_t s = 0, n = streams_used(); s < n; ++s) sum += stream[s].outstanding();
    return sum;
  }
  // Those of all streams that are known to be over.
  std::uint64_t over() const {
    std::uint64_t sum = 0;
    for (std::uint32_t s = 0, n = streams_used(); s < n; ++s) sum += stream[s].known.load();
    return sum;
  }
  std::uint64_t submissions() const {
    std::uint64_t sum = crowd_submissions.load(std::memory_order_relaxed);
    for (std::uint32_t t = 0, n = slots_used(); t < n; ++t)
      sum += threads[t].submissions.load(std::memory_order_relaxed);
    return sum;
  }
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace gangway::live

// The client's side of the gate, which every submission of the process passes. Independent of CUDA: the
// look-alike of libcuda.so.1 calls it (hw/intercept/), and tests call it without a driver.
//
// Revocation is exact because both sides are sequentially consistent: a thread marks itself inside, then
// reads the permit; the revoker writes the permit, then checks who is inside. No submission under the old
// permit is missed, and none under the new one starts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "hw/live/gate_channels.hpp"
#include "hw/live/gate_driver.hpp"
#include "hw/live/gate_jobs.hpp"
#include "hw/live/gate_marks.hpp"
#include "hw/live/gate_thread.hpp"
#include "hw/live/kill_points.hpp"
#include "hw/live/page.hpp"

namespace gangway::live {

// The source of permits.
class Source {
 public:
  virtual ~Source() = default;
  struct Pages {
    const PermitPage* permit = nullptr;  // null: the process is not scheduled, all is open
    ClientPage* client = nullptr;        // initially zeros
  };
  // Called by the thread that makes the process's first submission.
  virtual Pages open() = 0;
  virtual void ring() = 0;                    // asks the daemon to look at the client page
  virtual int passing() const { return -1; }  // the channel for memory that is passed on; -1: none
};

// A submission.
struct Submission {
  const StreamName* stream = nullptr;  // null: no stream (pinning memory)
  bool waits = false;                  // the call itself waits for the work
};

// A submission's state between enter() and leave(). Not engaged if the stream is being captured or the call
// is nested in another one.
struct Pass {
  ThreadSlot* thread = nullptr;
  StreamSlot* stream = nullptr;
  bool engaged = false;
  std::uint32_t limit = 0;  // in flight; 0: none
  bool refused = false;     // no channel is left: submit nothing, do not call leave()
};

class Gate {
 public:
  void jobs_are(JobsAre what) { jobs_.are(what); }  // call before anything else
  // Range markers. A range waits for its job's release. Of nested ranges the outermost counts; work
  // outstanding at its end belongs to the job until a synchronising call or the next range.
  void range_begins();
  void range_ends();

  constexpr Gate(Driver& driver, Source& source) : driver_(driver), source_(source) {}

  Pass enter(const Submission& submission);  // returns when the thread may submit
  void leave(const Pass& pass, const Submission& submission, bool submitted);  // after the call has returned

  // Held around what a submission asks the driver before enter(), where the driver may keep the thread in
  // that call: its process is away as a whole while the gate is closed. The daemon sees it wait.
  class Arrival {
   public:
    explicit Arrival(Gate& gate);
    ~Arrival();
    Arrival(const Arrival&) = delete;
    Arrival& operator=(const Arrival&) = delete;

   private:
    ClientPage* page_ = nullptr;  // null: the gate is open, or it is no submission of its own
  };

  // Around a synchronising call: before() returns what has been submitted to the stream; pass it to after()
  // once the call succeeded. Without a stream the driver is asked. A job ends here when nothing is
  // outstanding.
  std::uint64_t before(const StreamName& stream);
  void after(const StreamName& stream, std::uint64_t begun);
  void after();

  // Asks the driver about streams with outstanding work. True if nothing is outstanding.
  bool look();
  // Likewise, but does not wait for threads that are in the driver, since that may keep them (a process
  // whose memory is away). What they find is seen at the next look.
  bool look_beside();

  // Held around a call that begins a capture of this stream.
  class CaptureBegin {
   public:
    CaptureBegin(Gate& gate, const StreamName& stream);
    ~CaptureBegin();
    // The capture lasts until capture_ended(), or until the stream or its context is gone.
    void began();

   private:
    std::unique_lock<std::mutex> lock_;
    Gate& gate_;
    StreamName stream_;
    bool counted_ = true;
  };
  // Held around a call that adds a stream to a capture.
  class CaptureJoin {
   public:
    explicit CaptureJoin(Gate& gate);

   private:
    std::unique_lock<std::mutex> lock_;
  };
  bool captures() const { return captures_.load() != 0; }  // some are under way
  void capture_ended(const StreamName& stream);            // that began in this stream

  // Channels are streams and contexts. Call before one is made. False if the client may have no more;
  // otherwise it counts until channel_failed(), or until it is closed under its name (0: the context's own)
  // or with its context.
  bool channel_opens();
  void channel_failed() { channels_.failed(); }
  void channel_opened(std::uint64_t stream, std::uint64_t context) { channels_.opened(stream, context); }
  // A stream's channel; 0: all of the context's.
  void channels_closed(std::uint64_t stream, std::uint64_t context) { channels_.closed(stream, context); }

  // Held around the destruction of a stream.
  class StreamEnd {
   public:
    StreamEnd(Gate& gate, const StreamName& stream);
    bool idle() const { return idle_; }  // nothing of it was outstanding
    void gone();

   private:
    std::unique_lock<std::mutex> lock_;
    Gate& gate_;
    std::uint64_t stream_;
    bool idle_ = false;
  };
  // Likewise, of the own stream of a thread that has ended.
  bool idle_of_ended(std::uint64_t handle) const;
  // Held around a call that may destroy a context (0: none). Meanwhile the driver is not asked about what
  // belongs to it: the process would crash. The call may wait for other threads' submissions, so it holds no
  // lock.
  class ContextEnd {
   public:
    ContextEnd(Gate& gate, std::uint64_t context);
    ~ContextEnd();
    ContextEnd(const ContextEnd&) = delete;
    ContextEnd& operator=(const ContextEnd&) = delete;
    void gone();  // without this, the context stays

   private:
    Gate& gate_;
    std::uint64_t context_;
    std::size_t place_ = 0;
    bool gone_ = false;
  };

  // How long (ns) a submission waits for room in flight without progress, for each submission of a group that
  // is seen to be over at once. Then it passes, and so do further ones until there is progress: others may
  // wait for them.
  void set_patience(std::int64_t ns) { patience_ = ns; }
  // The program requested another driver function that bypasses the gate, though it may submit. Whether that
  // is the first.
  bool found_unknown();
  // The daemon is gone: from now on the gate is open, or closed until another daemon comes. Affects
  // submissions not yet admitted. Earlier permits must stay valid, because threads may still read them.
  void open_to_all();  // while memory is away, only after memory_is_here()
  void hold();
  void obey(const PermitPage& permit);
  void forked();                                 // in the child, which is no client yet
  void ask_for_priority(std::int32_t priority);  // from the program's next job on
  const PermitPage& permit() const { return *permit_.load(); }
  // Stand for streams that were destroyed with work outstanding, and for those without a slot of their own.
  // The driver cannot be asked about them.
  static constexpr std::uint64_t kDestroyed = StreamName::kPerThread;
  static constexpr std::uint64_t kShared = kDestroyed | std::uint64_t{1} << 63;
  // Set in the name of the own stream of a thread that has ended. Nobody submits to it any more.
  static constexpr std::uint64_t kEnded = std::uint64_t{1} << 62;
  // --- Memory that leaves the device (memory/)
  void introduce();  // from now on there is a page()
  void ring() { source_.ring(); }
  int passing() const { return source_.passing(); }
  const MemoryOrders* memory_orders() const;  // null: there is no daemon
  // Call before any of the memory leaves, and once all of it is back.
  void memory_leaves();
  void memory_is_here();
  bool closed() const { return permit_.load()->allowed.load() == 0; }
  // Since when threads can pass (CLOCK_MONOTONIC, ns), as far as is known; kNotOpen: they cannot now.
  static constexpr std::int64_t kNotOpen = INT64_MAX;
  std::int64_t open_since() const;
  // All outstanding work waits behind kernels that have left; the client page reports it.
  bool gone() const {
    const ClientPage* const page = page_.load();
    return page != nullptr && page->gone.load() == std::uint64_t{permit().epoch.load()} + 1;
  }
  ClientPage* page() { return page_.load(); }
  static StreamSlot* find(ClientPage& page, const StreamName& name);  // null: it has not submitted
  static std::uint64_t submission();  // number of the calling thread's current submission, from 1; else 0
  static bool nested();               // the calling thread is inside a call that has passed, or need not
  // Held around a call that need not pass. Calls that the driver makes for it need not, either.
  class Nested {
   public:
    Nested();
    ~Nested();
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
  };

 private:
  ThreadSlot* thread_slot(ClientPage& page);
  StreamSlot* stream_slot(const StreamName& name);
  // Cold is what most submissions do not run. Those that run between two launches find little of their code
  // and data in the caches: so it is short and in one piece, and what it reads of this is in one line.
  [[gnu::cold]] Pass enter_slowly(const Submission& submission);
  [[gnu::cold]] void leave_slowly(const Pass& pass, const Submission& submission, bool submitted);
  [[gnu::cold]] void wait_for_permit(const PermitPage& permit);
  [[gnu::cold]] bool wait_for_admission(const PermitPage& permit, std::uint32_t epoch);
  [[gnu::cold]] void open_first();
  [[gnu::cold]] ThreadSlot* take_thread_slot(ClientPage& page);
  [[gnu::cold]] StreamSlot* find_or_add(const StreamName& name);
  [[gnu::cold]] bool room(const PermitPage& permit, std::uint32_t allowed, Pass& pass);
  bool take_place(ClientPage& page, std::uint32_t allowed, StreamSlot* slot);
  // The thread has submitted, and is outside again.
  static void ended(ThreadSlot& thread) {
    thread.submissions.store(thread.submissions.load(std::memory_order_relaxed) + 1,
                             std::memory_order_relaxed);
    GANGWAY_POINT("before-outside");
    thread.inside.store(0, std::memory_order_release);
    GANGWAY_POINT("outside");
  }
  static void mark_inside(ThreadSlot* thread, ClientPage& page) {
    if (thread != nullptr)
      thread->inside.exchange(1);
    else
      page.crowd.fetch_add(1);
  }
  static void mark_outside(ThreadSlot* thread, ClientPage& page) {
    if (thread != nullptr)
      thread->inside.store(0, std::memory_order_release);
    else
      page.crowd.fetch_sub(1);
  }
  bool look_locked(ClientPage& page);
  bool context_ends(const StreamSlot& slot) const;
  static bool all_over(const ClientPage& page, std::uint64_t handle);
  template <typename Which>
  void captures_end(const Which& which);
  std::optional<std::uint64_t> returned(const StreamSlot& slot, const ClientPage& page) const;
  void mark_rest();
  [[gnu::cold]] void mark(const Pass& pass, const StreamName& stream, const ClientPage& page, bool shared);
  [[gnu::cold]] void take_back(StreamSlot& slot);  // a submission that has failed

  // What every submission reads.
  alignas(64) std::atomic<const PermitPage*> permit_{&unopened_};
  std::atomic<ClientPage*> page_{nullptr};
  std::atomic<std::uint64_t> opening_{0};  // distinguishes this page from earlier ones that threads remember
  std::atomic<std::uint64_t> forgotten_{0};  // generation: threads that remember slots look again
  std::atomic<std::uint32_t> captures_{0};

  alignas(64) Driver& driver_;
  Source& source_;
  inline static const PermitPage unopened_{};
  PermitPage open_{kUnlimited, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {}},
      held_{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {}};
  std::atomic<std::uint32_t> failing_{0};  // submissions that are being taken back
  std::atomic<std::uint64_t> failed_{0};   // that were
  std::int64_t patience_ = 100'000'000;
  std::atomic<std::uint64_t> over_when_forced_{UINT64_MAX};  // submissions, when one last passed without room
  GateJobs jobs_{permit_};
  GateMarks marks_{driver_, captures_};
  GateChannels channels_{page_};
  std::mutex first_mutex_;    // held while the gate opens for the first time
  std::mutex streams_mutex_;  // slot assignment; driver queries, against captures and destruction
  std::mutex places_mutex_;
  std::mutex memory_mutex_;
  bool memory_away_ = false, open_when_here_ = false;
  std::array<std::uint64_t, kMostEnding> ending_{};  // contexts that may be destroyed right now
  std::atomic<std::uint32_t> unknown_{0};
  std::mutex captures_mutex_;
  std::vector<StreamName> capturing_;              // streams in which captures began, with their contexts
  std::atomic<std::int64_t> priority_{INT64_MIN};  // requested; INT64_MIN: none so far
};

[[gnu::always_inline]] inline Pass Gate::enter(const Submission& submission) {
  GateThread& mine = gate_thread;
  if (mine.depth++ > 0) [[unlikely]]
    return {};
  const PermitPage& permit = *permit_.load(std::memory_order_acquire);
  if (mine.opening == opening_.load(std::memory_order_relaxed) && mine.thread != nullptr &&
      captures_.load() == 0) [[likely]] {
    ClientPage& page = *page_.load(std::memory_order_acquire);
    StreamSlot* const slot = submission.stream != nullptr
                                 ? mine.slot(*submission.stream, forgotten_.load(std::memory_order_acquire))
                                 : nullptr;
    if ((slot != nullptr || submission.stream == nullptr) &&
        (page.job.load(std::memory_order_acquire) & 1) != 0) [[likely]] {
      GANGWAY_POINT("before-inside");
      mark_inside(mine.thread, page);
      GANGWAY_POINT("inside");
      if (permit.allows(page.job.load()) == kUnlimited && permit_.load() == &permit) [[likely]] {
        if (slot != nullptr) slot->begun.fetch_add(1);
        jobs_.passes(page, mine.job);
        ++mine.number;
        mine.engaged = true;
        GANGWAY_POINT("permitted");
        return {mine.thread, slot, true};
      }
      mark_outside(mine.thread, page);
    }
  }
  return enter_slowly(submission);
}

[[gnu::always_inline]] inline void Gate::leave(const Pass& pass, const Submission& submission,
                                               bool submitted) {
  GateThread& mine = gate_thread;
  --mine.depth;
  if (!pass.engaged) [[unlikely]]
    return;
  mine.engaged = false;
  GANGWAY_POINT("submitted");
  const bool needs_mark =
      pass.stream != nullptr && (pass.limit != 0 || submission.stream->per_thread() ||
                                 pass.stream->stream.load(std::memory_order_relaxed) == kShared);
  if (pass.thread == nullptr || needs_mark || !submitted) [[unlikely]]
    return leave_slowly(pass, submission, submitted);
  ended(*pass.thread);
}

}  // namespace gangway::live

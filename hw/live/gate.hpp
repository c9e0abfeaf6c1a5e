// The client's side of the gate: every submission of the process passes it. Knows nothing of CUDA; the
// look-alike of libcuda.so.1 feeds it (hw/intercept/), tests feed it without a driver.
//
// Revocation is exact because both sides are sequentially consistent: a thread marks itself inside and then
// reads the permit; who revokes writes the permit and then looks who is inside. No submission that read the
// old permit is missed, and none that reads the new one starts.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "hw/live/gate_channels.hpp"
#include "hw/live/gate_driver.hpp"
#include "hw/live/gate_jobs.hpp"
#include "hw/live/gate_marks.hpp"
#include "hw/live/page.hpp"

namespace gangway::live {

// Where permits come from.
class Source {
 public:
  virtual ~Source() = default;
  struct Pages {
    const PermitPage* permit = nullptr;  // null: nobody schedules this process, everything is open
    ClientPage* client = nullptr;        // zeros
  };
  // At the first submission of the process, in the thread that makes it.
  virtual Pages open() = 0;
  virtual void ring() = 0;  // the daemon should look at the client page
};

// What is submitted.
struct Submission {
  const StreamName* stream = nullptr;  // null: to none (pinning memory)
  bool waits = false;                  // the call itself waits for the work
};

// What a submission holds between enter() and leave(). Not engaged: the stream is being captured, or the call
// is made inside another one.
struct Pass {
  ThreadSlot* thread = nullptr;
  StreamSlot* stream = nullptr;
  bool engaged = false;
  bool limited = false;  // gets a mark
  bool refused = false;  // the client may have no channel: there is nothing to submit, and no leave()
};

class Gate {
 public:
  void jobs_are(JobsAre what) { jobs_.are(what); }  // before anything else
  // A range waits for its job's release. Of ranges inside each other the outermost counts; what of its work
  // is outstanding at its end belongs to the job, until a synchronising call or the next range.
  void range_begins();
  void range_ends();

  constexpr Gate(Driver& driver, Source& source) : driver_(driver), source_(source) {}

  Pass enter(const Submission& submission);  // returns when the thread may submit
  void leave(const Pass& pass, const Submission& submission, bool submitted);  // the call has returned

  // A synchronising call: before() what has been submitted to the stream, after() with that once the call
  // succeeded. Without a stream the driver is asked. A job ends here when nothing is outstanding.
  std::uint64_t before(const StreamName& stream);
  void after(const StreamName& stream, std::uint64_t begun);
  void after();

  // Asks the driver about streams that are not known to be over. True: nothing is outstanding.
  bool look();

  // Held around a call that begins a capture, or lets a stream join one.
  class Capture {
   public:
    enum Kind { begins, joins };
    Capture(Gate& gate, Kind kind);
    ~Capture();
    void began() { counted_ = false; }  // it lasts until capture_ended()

   private:
    Gate& gate_;
    bool locked_ = false, counted_ = false;
  };
  void capture_ended() { captures_.fetch_sub(1); }

  // Channels are streams and contexts. Before one is made: false where the client may have no more. It counts
  // from then on: until channel_failed(), or it has a name (0: a context's own), or is closed with its
  // context.
  bool channel_opens();
  void channel_failed() { channels_.failed(); }
  void channel_opened(std::uint64_t stream, std::uint64_t context) { channels_.opened(stream, context); }
  // The stream's; 0: all of the context.
  void channels_closed(std::uint64_t stream, std::uint64_t context) { channels_.closed(stream, context); }

  // Held around a stream's or context's destruction, which forgets it.
  class Destruction {
   public:
    Destruction(Gate& gate, const StreamName* stream, std::uint64_t context);
    void done();

   private:
    std::unique_lock<std::mutex> lock_;
    Gate& gate_;
    std::uint64_t stream_, context_;
  };

  // How long (ns) a submission waits for room in flight while nothing goes on; then it may be what others
  // wait for.
  void set_patience(std::int64_t ns) { patience_ = ns; }
  void
  found_unknown();  // the program asked for a function of the driver that does not pass the gate, but should
  // The daemon is gone, and the gate open from now on, or closed until there is another one. Its permit takes
  // effect on submissions that have not been let in by then. Threads may still look at permits of before,
  // which have to stay.
  void open_to_all() { permit_.store(&open_); }
  void hold() { permit_.store(&held_); }
  void obey(const PermitPage& permit);
  void forked();                                 // in the child: no client yet
  void ask_for_priority(std::int32_t priority);  // from the program's next job on
  const PermitPage& permit() const { return *permit_.load(); }
  static constexpr std::uint64_t kDestroyed =
      StreamName::kPerThread;  // of no thread: a stream that left work
  bool closed() const { return permit_.load()->allowed.load() == 0; }
  // What is outstanding waits behind kernels that have left, as the client page says.
  bool gone() const {
    const ClientPage* const page = page_.load();
    return page != nullptr && page->gone.load() == std::uint64_t{permit().epoch.load()} + 1;
  }
  ClientPage* page() { return page_.load(); }
  static std::uint64_t submission();  // of the calling thread, under way: a number from 1; else 0

 private:
  void wait_for_permit(const PermitPage& permit);
  bool wait_for_admission(const PermitPage& permit, std::uint32_t epoch);
  void open_first();
  ThreadSlot* thread_slot(ClientPage& page);
  StreamSlot* stream_slot(const StreamName& name);
  static StreamSlot* find(ClientPage& page, const StreamName& name);
  StreamSlot* find_or_add(const StreamName& name);
  bool room(const PermitPage& permit, std::uint32_t allowed, Pass& pass);
  bool take_place(ClientPage& page, std::uint32_t allowed, StreamSlot* slot);
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

  Driver& driver_;
  Source& source_;
  inline static const PermitPage unopened_{};
  PermitPage open_{kUnlimited, 1, 0, 0, 0, 0, {}}, held_{0, 1, 0, 0, 0, 0, {}};
  std::atomic<const PermitPage*> permit_{&unopened_};
  std::atomic<ClientPage*> page_{nullptr};
  std::int64_t patience_ = 100'000'000;
  GateJobs jobs_{permit_};
  std::uint64_t opening_ = 0;  // tells this page from others that threads may remember
  GateMarks marks_{driver_, captures_};
  GateChannels channels_{page_};
  std::mutex first_mutex_;
  std::mutex streams_mutex_;  // which slot is whose; asking the driver, against captures and destruction
  std::mutex places_mutex_;
  std::atomic<std::uint32_t> captures_{0}, unknown_{0};
  std::atomic<std::int64_t> priority_{INT64_MIN};  // that was asked for; none so far
  std::atomic<std::uint64_t> forgotten_{0};        // generation: threads that remember slots look again
};

}  // namespace gangway::live

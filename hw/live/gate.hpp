// The client's side of the gate: every submission of the process passes it. Knows nothing of CUDA; the
// look-alike of libcuda.so.1 feeds it (hw/intercept/), tests feed it without a driver.
//
// Revocation is exact because both sides are sequentially consistent: a thread marks itself inside and then
// reads the permit; who revokes writes the permit and then looks who is inside. No submission that read the
// old permit is missed, and none that reads the new one starts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "hw/live/page.hpp"

namespace gangway::live {

// A stream as the driver names it: a handle, or one of the default streams.
struct StreamName {
  static constexpr std::uint64_t kLegacy = 1, kPerThread = 2;
  std::uint64_t handle = kLegacy;  // kLegacy, kPerThread + 256 * thread, or the driver's handle
  std::uint64_t context = 0;       // of default streams: whose
  bool legacy() const { return handle == kLegacy; }
  bool per_thread() const { return (handle & 0xff) == kPerThread; }
  static StreamName of_this_thread(std::uint64_t context);
};

// What the gate asks of the driver. None of these blocks or harms a capture.
class Driver {
 public:
  using Event = void*;
  virtual ~Driver() = default;
  virtual bool capturing(const StreamName&) = 0;
  virtual std::uint64_t context(const StreamName&) = 0;  // of a stream that is no default stream
  virtual bool idle(const StreamName&) = 0;              // false too where it cannot be asked
  // Records the event (null: a new one) behind everything submitted to the stream so far. False: it cannot.
  virtual bool record(const StreamName&, Event&) = 0;
  virtual bool reached(Event, bool captures) = 0;  // `captures`: some are under way
};

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

// What counts as a job of the program.
enum class JobsAre {
  synchronised,  // from a submission to a call that leaves nothing outstanding
  ranges,        // what lies in ranges that begin and end by range_begins() and range_ends()
  whole,         // all of it is one
};

class Gate {
 public:
  void jobs_are(JobsAre what) { jobs_are_ = what; }  // before anything else
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
  void channel_failed();
  void channel_opened(std::uint64_t stream, std::uint64_t context);
  void channels_closed(std::uint64_t stream, std::uint64_t context);  // the stream's; 0: all of the context

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
  void open_for_good() { permit_.store(&open_); }  // the daemon is gone
  void forked();                                   // in the child: no client yet
  bool closed() const { return permit_.load()->allowed.load() == 0; }
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
  void mark(const StreamName& name, StreamSlot& slot, std::uint64_t begun);
  void look_at_marks();
  void mark_inside(ThreadSlot* thread, ClientPage& page);
  void mark_outside(ThreadSlot* thread, ClientPage& page);
  std::int64_t await_release(const PermitPage& permit, ClientPage& page);
  bool job_begins(ClientPage& page);
  void count_channels();
  void begin_job(const PermitPage& permit, ClientPage& page);
  void count_begin(ClientPage& page, std::int64_t arrived);
  void count_end(ClientPage& page);
  void job_may_be_over(ClientPage& page);
  bool look_locked(ClientPage& page);

  Driver& driver_;
  Source& source_;
  inline static const PermitPage unopened_{};
  PermitPage open_{kUnlimited, 1, 0, 0, 0, 0, {}};
  std::atomic<const PermitPage*> permit_{&unopened_};
  std::atomic<ClientPage*> page_{nullptr};
  std::int64_t patience_ = 100'000'000;
  JobsAre jobs_are_ = JobsAre::synchronised;
  std::atomic<std::uint32_t> ranges_{0};  // inside each other, or at once
  std::uint64_t opening_ = 0;             // tells this page from others that threads may remember
  // Events behind submissions whose number is limited; when one is reached, so much of its stream is over.
  struct Mark {
    Driver::Event event = nullptr;
    StreamSlot* slot = nullptr;
    std::uint64_t begun = 0;
  };
  std::array<Mark, 2 * kMostInFlight> marks_;  // the first `marks_used_`, oldest first
  std::size_t marks_used_ = 0;
  struct Channel {
    std::uint64_t stream = 0, context = 0;
  };
  std::vector<Channel> channels_;
  std::uint32_t opening_channels_ = 0;  // that have no name yet
  std::mutex channels_mutex_;
  std::mutex first_mutex_;
  std::mutex streams_mutex_;  // which slot is whose; asking the driver, against captures and destruction
  std::mutex marks_mutex_;
  std::mutex places_mutex_;
  std::atomic<std::uint32_t> captures_{0}, unknown_{0};
  std::atomic<std::uint64_t> forgotten_{0};  // generation: threads that remember slots look again
};

}  // namespace gangway::live

// The client's side of eviction: the launch books of all its contexts, and a thread. When the gate closes,
// the thread tells kernels to leave and reports when nothing of the client runs; when the gate opens, it
// launches the remaining blocks. The program's threads may be busy or blocked meanwhile.
//
// Driver calls that wait for the device may block all other calls of the process, so that a launch that has
// left could never continue. Therefore such a call is made alone: when no launch of a book is under way, and
// while none begins. Launches may wait for what the calling thread does next, so that they never end. Then a
// call that seldom waits is made in their company, and until it returns none is told to leave.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "hw/live/departures.hpp"
#include "hw/live/gate.hpp"
#include "hw/live/held_work.hpp"
#include "hw/live/launch_book.hpp"
#include "hw/live/taken_queues.hpp"

namespace gangway::live {

// What the keeper needs of the driver besides the gate's queries.
class Contexts {
 public:
  virtual ~Contexts() = default;
  virtual std::unique_ptr<LaunchPort> open(std::uint64_t context) = 0;  // null: it cannot have a book
  virtual bool blocks(const StreamName& stream) = 0;  // whether it and the legacy stream wait for each other
  virtual void give_back(Driver::Event event) = 0;
  virtual void thread_begins() = 0;
  // How many streams of a context may have work while one is held. If the keeper's own submissions stood
  // behind a held stream in one of the device's queues, they would never begin.
  virtual std::size_t most_streams() = 0;
};

class LaunchKeeper {
 public:
  LaunchKeeper(Gate& gate, Driver& driver, Contexts& contexts);

  // Whether launches of books are under way.
  bool any() const { return under_way_.load() != 0; }
  // Call it in a thread that has passed the gate and holds a Launching. False: launch the original kernel.
  bool launch(std::uint64_t context, const StreamName& stream, std::unique_ptr<RepeatableLaunch> launch);
  // Opens the context's book, unless it is open. Pins memory, so it should be called alone.
  void prepare(std::uint64_t context) { book(context); }

  // Call it before a thread passes the gate with a launch. Waits for calls that are made alone: most are
  // short, and during one the launch can take no form.
  void let_others_be_alone();
  // Held by a thread from passing the gate until its launch is submitted.
  class Launching {
   public:
    explicit Launching(LaunchKeeper& keeper);
    ~Launching();
    Launching(const Launching&) = delete;
    Launching& operator=(const Launching&) = delete;
    bool allowed() const { return allowed_; }  // false: launch the original kernel

   private:
    LaunchKeeper& keeper_;
    bool allowed_ = false;
  };
  // Held around a call that is made alone. Null: there are no books. `or_in_company`: it seldom waits for the
  // device.
  class Alone {
   public:
    explicit Alone(LaunchKeeper* keeper, bool or_in_company = false);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    LaunchKeeper* keeper_;
    bool in_company_ = false;
  };
  // Call these while any(), when the program uses streams and events.
  void submits(const StreamName& stream);  // before it passes the gate; waits while much is queued
  void records(const StreamName& stream, std::uint64_t event);
  void waits(const StreamName& stream, std::uint64_t event);  // before the wait
  // Call these always. `idle`: nothing of it was outstanding.
  void destroyed(const StreamName& stream, bool idle);
  void context_destroyed(std::uint64_t context);  // while nothing of it is under way

  // One pass of the keeper's thread; tests call it themselves. True: the gate is closed, and the client page
  // says that nothing runs.
  bool turn();
  void begin_thread();

 private:
  struct Context {
    std::unique_ptr<LaunchPort> port;
    std::unique_ptr<LaunchBook> book;                      // null: without a port
    std::uint64_t evictions = 0, failures = 0, ended = 0;  // already counted
    std::uint32_t that_wait = 0;                           // likewise
  };
  static void* thread(void* self);
  [[noreturn]] void run();
  void rest(bool away, std::int64_t since);
  void tell_who_waits(Context& its, ClientPage& page);
  void turn_of_slices(const PermitPage& permit, ClientPage& page);
  void rehearse(const PermitPage& permit);
  void ring_unless_polled(const PermitPage& permit);
  std::shared_ptr<Context> book(std::uint64_t context);
  // A stream's number. Without one it gets one: a thread's own stream by that thread's call.
  StreamId id(const StreamName& stream);
  StreamId known(const StreamName& stream);  // 0: it has none
  static void own_stream_ends();
  void forget_own_streams();
  LaunchIs look_at(StreamId stream, std::uint32_t number);
  bool nothing_runs(ClientPage& page);
  bool some_may_run();
  HeldWork::Kind kind(const StreamName& stream);
  std::uint64_t context_of(const StreamName& stream);
  struct Standstill {
    std::int64_t since = 0;
    std::uint64_t ended = UINT64_MAX;  // launches, until then
  };
  bool come_alone(bool or_in_company);
  bool joins(Standstill& still, bool seldom_waits);
  bool stands_still(Standstill& still, std::int64_t patience) const;
  bool stuck(Standstill& still, std::int64_t patience);
  bool queue_for(const StreamName& stream, std::uint64_t context);
  void await_queue(const StreamName& stream, std::uint64_t context, const std::function<bool()>& needed);

  Gate& gate_;
  Driver& driver_;
  Contexts& contexts_;
  HeldWork held_;
  TakenQueues queues_;
  std::mutex mutex_;  // guards all that follows
  std::map<std::uint64_t, std::shared_ptr<Context>> books_;
  std::map<StreamId, std::uint64_t> context_of_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, StreamId> ids_;
  std::map<StreamId, HeldWork::Kind> kinds_;
  StreamId streams_ = 0;
  Departures departures_;
  bool leaving_ = false, has_thread_ = false;
  std::int64_t rehearsed_ = 0, asked_ = 0;  // when that, and when the driver was asked about streams
  bool has_a_core_ = false;                 // for itself, while it waits for orders
  // The context and the launch in slices whose turn it is, and the number of such kernels of the process so
  // far.
  std::shared_ptr<Context> sliced_;
  LaunchBook::Turn turn_;
  std::uint32_t numbers_of_slices_ = 0;
  std::atomic<bool> slicing_{false};
  std::atomic<std::uint64_t> under_way_{0};
  // Own streams of threads that have just ended, and of those that have work outstanding, or had. The first
  // ones without a lock, as a fork may leave one taken; the others belong to the keeper's thread.
  struct OwnStream {
    std::uint64_t handle = 0;
    OwnStream* next = nullptr;
  };
  std::atomic<OwnStream*> just_ended_{nullptr};
  std::deque<std::uint64_t> ended_streams_;
  std::atomic<std::uint32_t> alone_{0}, launching_{0};
  std::atomic<std::uint32_t> company_{0};  // threads in the company of launches that may not be told to leave
  std::atomic<std::uint64_t> ended_{0};    // launches
  std::atomic<std::uint64_t> ended_when_stuck_{UINT64_MAX};  // when they were last found not to end
  std::atomic<std::uint32_t> awaited_{0};                    // threads that wait for launches to be over
  std::atomic<std::int64_t> crowded_{0};                     // when a stream had to wait for a queue
  std::atomic<bool> asleep_{false};                          // the keeper, while nobody competes
  std::mutex wake_mutex_;
  std::condition_variable wake_;
};

}  // namespace gangway::live

// The client's side of eviction: the books of all its contexts, and a thread that tells kernels to leave when
// the gate is closed, says when nothing of the client runs, and launches what is left when it is open again.
// The program's threads may be busy or wait meanwhile.
//
// Driver calls that wait for the device may hold up all other calls of the process. A launch that has left
// would never end behind one. So such a call is made alone: when no launch of a book is under way, and while
// none begins.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "hw/live/departures.hpp"
#include "hw/live/gate.hpp"
#include "hw/live/held_work.hpp"
#include "hw/live/launch_book.hpp"

namespace gangway::live {

// What the keeper asks of the driver beside the gate's questions.
class Contexts {
 public:
  virtual ~Contexts() = default;
  virtual std::unique_ptr<LaunchPort> open(std::uint64_t context) = 0;  // null: it has no room for books
  virtual bool blocks(const StreamName& stream) = 0;  // it and the legacy stream wait for each other
  virtual void give_back(Driver::Event event) = 0;
  virtual void thread_begins() = 0;
  // So many streams of a context may stand still at once: with all of the device's queues taken by such, what
  // the keeper submits would not be begun.
  virtual std::size_t most_held() = 0;
};

class LaunchKeeper {
 public:
  LaunchKeeper(Gate& gate, Driver& driver, Contexts& contexts);

  // Launches of books that are not over.
  bool any() const { return under_way_.load() != 0; }
  // By a thread that passed the gate and holds a Launching. False: the launch has to be made as it is.
  bool launch(std::uint64_t context, const StreamName& stream, std::unique_ptr<RepeatableLaunch> launch);

  // Before a thread passes the gate with a launch: calls that are made alone are mostly short, and behind one
  // the launch could take no form.
  void let_others_be_alone();
  // Held by a thread that has passed it until its launch is submitted.
  class Launching {
   public:
    explicit Launching(LaunchKeeper& keeper);
    ~Launching();
    Launching(const Launching&) = delete;
    Launching& operator=(const Launching&) = delete;
    bool allowed() const { return allowed_; }  // not: the launch has to be made as it is

   private:
    LaunchKeeper& keeper_;
    bool allowed_ = false;
  };
  // Held around a call that is made alone. Null: there are no books.
  class Alone {
   public:
    explicit Alone(LaunchKeeper* keeper);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    LaunchKeeper* keeper_;
  };

  // What the program does with streams and events. Only to be told while any().
  void submits(const StreamName& stream);  // before it passes the gate; waits while too much is queued
  void records(const StreamName& stream, std::uint64_t event);
  void waits(const StreamName& stream, std::uint64_t event);  // about to
  // To be told always.
  void destroyed(const StreamName& stream);
  void context_destroyed(std::uint64_t context);  // while nothing of it is under way

  // One look at everything, by the keeper's thread; tests call it themselves. True: the gate is closed, and
  // the client page says that nothing runs.
  bool turn();
  void begin_thread();

 private:
  struct Context {
    std::unique_ptr<LaunchPort> port;
    std::unique_ptr<LaunchBook> book;        // null: without a port
    std::uint64_t evictions = 0, ended = 0;  // that have been counted
    std::uint32_t that_wait = 0;             // likewise
  };
  static void* thread(void* self);
  [[noreturn]] void run();
  void rest(bool away, std::int64_t since);
  void tell_who_waits(Context& its, ClientPage& page);
  void turn_of_slices(const PermitPage& permit, ClientPage& page);
  void ring_unless_polled(const PermitPage& permit);
  std::shared_ptr<Context> book(std::uint64_t context);
  StreamId id(const StreamName& stream);
  LaunchIs look_at(StreamId stream, std::uint32_t number);
  bool nothing_runs(ClientPage& page);
  HeldWork::Kind kind(const StreamName& stream);
  std::uint64_t context_of(const StreamName& stream);
  void come_alone();
  bool room(StreamId stream, std::uint64_t context) {
    return held_.is_held(stream) || held_.held_streams(context) < contexts_.most_held();
  }

  Gate& gate_;
  Driver& driver_;
  Contexts& contexts_;
  HeldWork held_;
  std::mutex mutex_;  // all that follows
  std::map<std::uint64_t, std::shared_ptr<Context>> books_;
  std::map<StreamId, std::uint64_t> context_of_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, StreamId> ids_;
  std::map<StreamId, HeldWork::Kind> kinds_;
  StreamId streams_ = 0;
  Departures departures_;
  bool leaving_ = false, has_thread_ = false;
  // Whose turn it is to be launched in slices, and the kernel: its number counts the process's, from 1.
  std::shared_ptr<Context> sliced_;
  LaunchBook::Turn turn_;
  std::uint32_t numbers_of_slices_ = 0;
  std::atomic<bool> slicing_{false};
  std::atomic<std::uint64_t> under_way_{0};
  std::atomic<std::uint32_t> alone_{0}, launching_{0};
  std::mutex wake_mutex_;
  std::condition_variable wake_;
};

}  // namespace gangway::live

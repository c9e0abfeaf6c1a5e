// Detects policies that do not return from a call, which the run's own thread cannot do.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "models/quantity.hpp"

namespace gangway {

// A call that has lasted too long.
struct LongCall {
  enum class Why { stuck, interrupted };
  Why why = Why::stuck;
  pthread_t thread{};  // that the call was on
  Duration lasted;
  std::string message;  // with the run's name and history
};

// A run's policy calls, as reported by its thread. All other members are for that thread only.
class WatchedRun {
 public:
  // Registers the run. `limit`: processor time allowed per call. `stop`, which must outlive this object, is
  // set when the run is to end.
  WatchedRun(Duration limit, const std::atomic<bool>& stop);
  ~WatchedRun();
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  // "point 3, policy 'rr', seed 1, replication 0, permutation 2"
  void call_it(std::string name) { name_ = std::move(name); }
  const std::string& name() const { return name_; }
  // Describes the run so far, after what the policy did. Called while the policy runs and gives no order. May
  // be null.
  using Story = std::function<std::string(const std::string& what)>;
  void tell_by(Story story) { story_ = std::move(story); }

  // The policy is being called (or has returned), or gives an order (or it is carried out). During an order
  // the policy may not be called.
  void begin_call() {
    ++calls_;
    unlock();
  }
  void end_call() { lock(); }
  void begin_order() { lock(); }
  void end_order() { unlock(); }

 private:
  friend class PolicyWatch;
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }
  std::optional<LongCall> look(Duration interval);

  // Protects the fields below, and the run's history against the watch. Held by the run's thread except while
  // the policy runs.
  std::atomic<bool> locked_ = true;
  std::uint64_t calls_ = 0;  // calls begun
  const Duration limit_;
  const std::atomic<bool>& stop_;
  const pthread_t thread_;
  std::string name_;
  Story story_;
  // Used by the watch:
  std::uint64_t seen_ = 0;  // calls_ at the last look
  std::int64_t looks_ = 0;  // consecutive looks during that call
  Duration used_;           // processor time of the thread at the first of them
};

// Watches all runs of the program. A call is stuck if its thread has spent the limit as processor time in it,
// or six times the limit as counted by the watch's own looks. A busy or suspended machine therefore does not
// make a call stuck.
class PolicyWatch {
 public:
  static constexpr Duration kInterval{50'000'000};  // between looks
  // When a run is to end, longer calls are not waited for.
  static constexpr Duration kGrace{500'000'000};

  // Looks at all runs once; returns calls that are stuck or not waited for. They may have returned by now; if
  // not, they count as just begun. `interval`: since the last look.
  static std::vector<LongCall> look(Duration interval = kInterval);

  // In a child after fork(): the runs of its parent have no threads here.
  static void forget_runs();
};

// Looks at intervals, on a thread of its own, as long as it lives. Where there is no thread to be had, nobody
// does.
class PolicyWatchman {
 public:
  // `act` is called on that thread.
  explicit PolicyWatchman(std::function<void(const LongCall&)> act);
  ~PolicyWatchman();
  PolicyWatchman(const PolicyWatchman&) = delete;
  PolicyWatchman& operator=(const PolicyWatchman&) = delete;

 private:
  void work();

  const std::function<void(const LongCall&)> act_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

// "the policy has not returned from choose() after 5 s", where the call could be ended: thrown by a policy
// out of the call.
class NotReturned : public std::runtime_error {
 public:
  NotReturned(const std::string& call, Duration lasted, const std::string& place = "");
};

}  // namespace gangway

// Looks after policies that do not come back from a call: neither the run's thread nor Ctrl-C can end one.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "models/quantity.hpp"

namespace gangway {

// A run's calls of its policy, as its own thread tells them. All other members are for that thread alone.
class WatchedRun {
 public:
  // From now on PolicyWatch knows the run. `limit`: how long one call may take, as processor time.
  explicit WatchedRun(Duration limit);
  ~WatchedRun();
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  // "point 3, policy 'rr', seed 1, replication 0, permutation 2"
  void call_it(std::string name) { name_ = std::move(name); }
  const std::string& name() const { return name_; }
  // Says what has happened in the run so far, behind what the policy did. Called while the policy is at work
  // and gives no order. Nothing: there is nothing to say.
  using Story = std::function<std::string(const std::string& what)>;
  void tell_by(Story story) { story_ = std::move(story); }

  // The policy is called (or is back), or gives an order (which is carried out). The policy may not be called
  // while it is.
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

  // Guards what follows, and the run's history against the watch. The run's thread holds it unless the policy
  // is at work.
  std::atomic<bool> locked_ = true;
  std::uint64_t calls_ = 0;  // that have begun
  const Duration limit_;
  const pthread_t thread_;
  std::string name_;
  Story story_;
  // Of the watch:
  std::uint64_t seen_ = 0;  // calls_ at the last look
  std::int64_t looks_ = 0;  // in a row that met that call
  Duration used_;           // processor time of the thread at the first of them
};

// One object looks after all runs of the program. A call is stuck when its thread has spent the run's limit
// as processor time in it, or has been in it for six times that long as the watch's own looks count: neither
// a busy machine nor one that was asleep makes a call stuck.
class PolicyWatch {
 public:
  static constexpr Duration kInterval{50'000'000};  // between two looks
  // After an interruption a call that lasts longer than this is not waited for.
  static constexpr Duration kGrace{500'000'000};

  enum class Why { stuck, interrupted };
  // Ends the program. If it returns, the watch goes on as if the call had only begun.
  using End = std::function<void(Why, const std::string& message)>;

  PolicyWatch(const std::atomic<bool>& interrupted, End end)
      : interrupted_(interrupted), end_(std::move(end)) {}

  // Looks at all runs once. `interval`: since the last look.
  void look(Duration interval = kInterval);

 private:
  void look_at(WatchedRun& run, Duration interval);

  const std::atomic<bool>& interrupted_;
  const End end_;
};

}  // namespace gangway

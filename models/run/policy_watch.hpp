// Detects policies that do not return from a call, which neither the run's thread nor Ctrl-C can end.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "models/quantity.hpp"

namespace gangway {

// A run's policy calls, as reported by its thread. All other members are for that thread only.
class WatchedRun {
 public:
  // Registers the run. `limit`: processor time allowed per call.
  explicit WatchedRun(Duration limit);
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

  // Protects the fields below, and the run's history against the watch. Held by the run's thread except while
  // the policy runs.
  std::atomic<bool> locked_ = true;
  std::uint64_t calls_ = 0;  // calls begun
  const Duration limit_;
  const pthread_t thread_;
  std::string name_;
  Story story_;
  // Used by the watch:
  std::uint64_t seen_ = 0;  // calls_ at the last look
  std::int64_t looks_ = 0;  // consecutive looks during that call
  Duration used_;           // processor time of the thread at the first of them
};

// One object watches all runs of the program. A call is stuck if its thread has spent the limit as processor
// time in it, or six times the limit as counted by the watch's own looks. A busy or suspended machine
// therefore does not make a call stuck.
class PolicyWatch {
 public:
  static constexpr Duration kInterval{50'000'000};  // between looks
  // After an interruption, longer calls are not waited for.
  static constexpr Duration kGrace{500'000'000};

  enum class Why { stuck, interrupted };
  // Ends the program. If it returns, the watch continues as if the call had just begun.
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

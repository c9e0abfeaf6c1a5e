#include "models/run/policy_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <vector>

namespace gangway {
namespace {

constexpr std::int64_t kPatience = 6;  // limits that a call may take which uses no processor time

struct Runs {
  std::mutex mutex;
  std::vector<WatchedRun*> all;
};
Runs& runs() {
  static Runs& runs = *new Runs;  // never destroyed: the watch may outlive other statics
  return runs;
}

Duration processor_time(pthread_t thread) {
  clockid_t clock{};
  timespec time{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return {time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

}  // namespace

WatchedRun::WatchedRun(Duration limit) : limit_(limit), thread_(pthread_self()) {
  const std::lock_guard guard(runs().mutex);
  runs().all.push_back(this);
}

WatchedRun::~WatchedRun() {
  const std::lock_guard guard(runs().mutex);
  std::erase(runs().all, this);
}

void PolicyWatch::look(Duration interval) {
  const std::lock_guard guard(runs().mutex);
  for (WatchedRun* run : runs().all) look_at(*run, interval);
}

void PolicyWatch::look_at(WatchedRun& run, Duration interval) {
  if (run.locked_.exchange(true, std::memory_order_acquire)) return;  // not at work, or an order
  if (run.calls_ != run.seen_) {
    run.seen_ = run.calls_;
    run.looks_ = 0;
    run.used_ = processor_time(run.thread_);
    return run.unlock();
  }
  const Duration lasted{++run.looks_ * interval.ns};
  const Duration used = processor_time(run.thread_) - run.used_;
  const bool stuck = used >= run.limit_ || lasted.ns >= kPatience * run.limit_.ns;
  if (stuck || (interrupted_ && lasted >= kGrace)) {
    const std::string what =
        fmt::format("the policy has not returned from a call after {}",
                    to_text(std::max(Duration{used.ns / 1'000'000 * 1'000'000}, lasted)));
    end_(stuck ? Why::stuck : Why::interrupted,
         fmt::format("{}: {}", run.name_, run.story_ ? run.story_(what) : what));
    run.seen_ = 0;
  }
  run.unlock();
}

}  // namespace gangway

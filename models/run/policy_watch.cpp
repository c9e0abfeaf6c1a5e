#include "models/run/policy_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <system_error>

namespace gangway {
namespace {

constexpr std::int64_t kPatience = 6;  // limits that a call may take which uses no processor time

struct Runs {
  std::mutex mutex;
  std::vector<WatchedRun*> all;
};
Runs*& runs_pointer() {
  static Runs* runs = new Runs;  // never destroyed: the watch may outlive other statics
  return runs;
}
Runs& runs() { return *runs_pointer(); }

Duration processor_time(pthread_t thread) {
  clockid_t clock{};
  timespec time{};
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return {time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

std::string not_returned(const std::string& call, Duration lasted) {
  return fmt::format("the policy has not returned from {} after {}", call, to_text(lasted));
}

}  // namespace

WatchedRun::WatchedRun(Duration limit, const std::atomic<bool>& stop)
    : limit_(limit), stop_(stop), thread_(pthread_self()) {
  const std::lock_guard guard(runs().mutex);
  runs().all.push_back(this);
}

WatchedRun::~WatchedRun() {
  const std::lock_guard guard(runs().mutex);
  std::erase(runs().all, this);
}

std::optional<LongCall> WatchedRun::look(Duration interval) {
  if (locked_.exchange(true, std::memory_order_acquire)) return std::nullopt;  // not at work, or an order
  std::optional<LongCall> found;
  if (calls_ != seen_) {
    seen_ = calls_;
    looks_ = 0;
    used_ = processor_time(thread_);
  } else {
    const Duration lasted{++looks_ * interval.ns};
    const Duration used = processor_time(thread_) - used_;
    const bool stuck = used >= limit_ || lasted.ns >= kPatience * limit_.ns;
    if (stuck || (stop_ && lasted >= PolicyWatch::kGrace)) {
      const Duration told = std::max(Duration{used.ns / 1'000'000 * 1'000'000}, lasted);
      const std::string what = not_returned("a call", told);
      found = {stuck ? LongCall::Why::stuck : LongCall::Why::interrupted, thread_, told,
               fmt::format("{}: {}", name_, story_ ? story_(what) : what)};
      seen_ = 0;
    }
  }
  unlock();
  return found;
}

void PolicyWatch::forget_runs() { runs_pointer() = new Runs; }

std::vector<LongCall> PolicyWatch::look(Duration interval) {
  std::vector<LongCall> all;
  const std::lock_guard guard(runs().mutex);
  for (WatchedRun* run : runs().all)
    if (auto found = run->look(interval)) all.push_back(std::move(*found));
  return all;
}

PolicyWatchman::PolicyWatchman(std::function<void(const LongCall&)> act) : act_(std::move(act)) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
  }
}

PolicyWatchman::~PolicyWatchman() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PolicyWatchman::work() {
  std::unique_lock lock(mutex_);
  while (
      !changed_.wait_for(lock, std::chrono::nanoseconds(PolicyWatch::kInterval.ns), [this] { return over_; }))
    for (const LongCall& call : PolicyWatch::look()) act_(call);
}

NotReturned::NotReturned(const std::string& call, Duration lasted, const std::string& place)
    : std::runtime_error(not_returned(call, lasted) + place) {}

}  // namespace gangway

// Common to runners: distributes tasks of groups to worker threads, counts them, reports progress, handles
// interruption, and commits finished groups.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <thread>

#include "experiments/results/manifest.hpp"
#include "experiments/results/part_store.hpp"
#include "experiments/running/group_tasks.hpp"
#include "experiments/running/workers.hpp"

namespace gangway {

struct RunProgress {
  std::uint64_t groups_done = 0, groups = 0;  // a group: one point under one policy or in one order
  std::uint64_t runs_done = 0, runs = 0;      // to be played by this call
  double jobs_per_second = 0, runs_per_second = 0;
  double seconds_left = 0;  // 0 if unknown
};

template <typename Group>
class GroupWork {
 public:
  using Task = GroupTask<Group>;
  struct Settings {
    std::uint64_t runs = 1;                            // per group
    unsigned threads = 0;                              // 0: one per core
    std::function<void(const RunProgress&)> progress;  // called about five times a second; may be empty
  };

  GroupWork(typename GroupTasks<Group>::Groups groups, std::uint64_t count, Settings settings,
            PartStore& store, const std::atomic<bool>& stop)
      : groups_(count),
        settings_(std::move(settings)),
        store_(store),
        stop_(stop),
        tasks_(std::move(groups), settings_.runs) {}

  // Calls play() for each task until none is left or `stop` is set. If play() throws std::bad_alloc it must
  // have done nothing; the task is given to a thread with more room.
  Crew run(const std::function<void(const Task&)>& play) {
    const Crew crew = work(
        static_cast<unsigned>(std::min<std::uint64_t>(threads(), runs())), [&] { return step(play); },
        [this] { tick(); });
    store_.commit();
    return crew;
  }

  // Called by play(), from any thread.
  void count_run() { ++runs_done_; }
  void count_group() { ++groups_done_; }
  void count(std::uint64_t events, std::uint64_t jobs) {
    events_ += events;
    jobs_ += jobs;
  }

  std::uint64_t groups() const { return groups_; }
  std::uint64_t played() const { return groups_done_; }                // groups, by this call
  std::uint64_t done() const { return groups_done_ + tasks_.kept(); }  // including earlier calls
  std::uint64_t runs_done() const { return runs_done_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t jobs() const { return jobs_; }

  // Fills in the parts of an account known at the beginning, and at the end.
  void begin(RunAccount& account, bool resumed) const {
    account.start = start_;
    account.resumed = resumed;
  }
  void end(RunAccount& account) const {
    account.end = utc_now();
    account.seconds = seconds();
    account.events = events_;
    account.jobs = static_cast<std::int64_t>(jobs_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }
  unsigned threads() const {
    return settings_.threads > 0 ? settings_.threads : std::max(1u, std::thread::hardware_concurrency());
  }
  std::uint64_t runs() const { return groups_ * settings_.runs; }

  bool step(const std::function<void(const Task&)>& play) {
    if (stop_) return false;
    std::optional<Task> task = tasks_.next();
    if (!task) return false;
    try {
      play(*task);
    } catch (const std::bad_alloc&) {
      tasks_.give_back(std::move(*task));
      throw;
    }
    return true;
  }

  void tick() {
    store_.commit();
    if (!settings_.progress) return;
    RunProgress progress;
    progress.groups_done = done();
    progress.groups = groups_;
    progress.runs_done = runs_done_;
    progress.runs = runs() - tasks_.kept() * settings_.runs;
    progress.jobs_per_second = static_cast<double>(jobs_) / seconds();
    progress.runs_per_second = static_cast<double>(progress.runs_done) / seconds();
    if (progress.runs_done > 0)
      progress.seconds_left =
          static_cast<double>(progress.runs - progress.runs_done) / progress.runs_per_second;
    settings_.progress(progress);
  }

  const std::uint64_t groups_;
  const Settings settings_;
  PartStore& store_;
  const std::atomic<bool>& stop_;
  GroupTasks<Group> tasks_;
  const std::string start_ = utc_now();
  const Clock::time_point began_ = Clock::now();
  std::atomic<std::uint64_t> runs_done_ = 0, groups_done_ = 0, events_ = 0, jobs_ = 0;
};

}  // namespace gangway

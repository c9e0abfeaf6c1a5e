// Work in groups of as many tasks: which groups are still to be done, and whose task is next. A group belongs
// to a point of a sweep, which has several (a policy or an order each).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/sweeps/group_counts.hpp"
#include "experiments/sweeps/point_set.hpp"

namespace gangway {

// Where a group stands: its number among all, its point, its place at that.
struct GroupPlace {
  std::uint64_t number = 0;
  std::uint32_t point = 0;
  std::uint32_t index = 0;
};

template <typename Group>
struct GroupTask {
  std::shared_ptr<Group> group;
  std::uint64_t number = 0;  // in the group
};

// Hands out tasks in order, to any number of threads. What is given to the constructor is called by one
// thread at a time, and what it throws comes out of next().
template <typename Group>
class GroupTasks {
 public:
  struct Groups {
    PointSet points;                              // whose groups are to be done
    GroupCounts counts;                           // of all points
    std::function<bool(const GroupPlace&)> kept;  // there is nothing to do
    std::function<std::shared_ptr<Group>(const GroupPlace&)> open;
  };

  // `tasks`: of each group, at least 1.
  GroupTasks(Groups groups, std::uint64_t tasks)
      : groups_(std::move(groups)), tasks_(tasks), ranges_(groups_.points.ranges()) {
    begin(0);
  }

  std::optional<GroupTask<Group>> next() {
    const std::lock_guard lock(mutex_);
    if (!returned_.empty()) {
      GroupTask<Group> task = std::move(returned_.back());
      returned_.pop_back();
      return task;
    }
    if (!group_ && !open()) return std::nullopt;
    GroupTask<Group> task{group_, next_++};
    if (next_ == tasks_) group_.reset();
    return task;
  }

  // A task that could not be done for want of memory.
  void give_back(GroupTask<Group> task) {
    const std::lock_guard lock(mutex_);
    returned_.push_back(std::move(task));
  }

  std::uint64_t kept() const { return kept_; }  // groups, so far

 private:
  // The next group that is not kept.
  bool open() {
    for (; range_ < ranges_.size(); begin(range_ + 1))
      for (; place_.point <= ranges_[range_].last; ++place_.point, place_.index = 0)
        if (open_at_point()) return true;
    return false;
  }

  void begin(std::size_t range) {
    range_ = range;
    if (range_ == ranges_.size()) return;
    const std::uint32_t first = ranges_[range_].first;
    place_ = {groups_.counts.before(first), first, 0};
  }

  bool open_at_point() {
    while (place_.index < groups_.counts.at(place_.point)) {
      const GroupPlace place = place_;
      ++place_.number;
      ++place_.index;
      if (groups_.kept(place)) {
        ++kept_;
        continue;
      }
      group_ = groups_.open(place);
      next_ = 0;
      return true;
    }
    return false;
  }

  const Groups groups_;
  const std::uint64_t tasks_;
  const std::vector<PointSet::Range> ranges_;
  std::mutex mutex_;  // of what follows
  std::vector<GroupTask<Group>> returned_;
  std::shared_ptr<Group> group_;
  std::uint64_t next_ = 0;
  std::size_t range_ = 0;
  GroupPlace place_;
  std::atomic<std::uint64_t> kept_ = 0;
};

}  // namespace gangway

// One direction of copying between host and device: first come, first served; copies asked for at the same
// instant in client order.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/identity.hpp"

namespace gangway {

class CopyQueue {
 public:
  struct Copy {
    JobId job;
    Bytes size;
    bool of_program = true;  // else ordered by a policy
  };

  // RTSS17.C2: one copy at a time; without that rule all at once.
  CopyQueue(const CopyEngine& engine, bool one_at_a_time) : engine_(engine), one_at_a_time_(one_at_a_time) {}

  void ask(const Copy& copy) { asked_.push_back(copy); }

  // At the end of an instant: the slot of a copy that begins now, until there is none.
  std::optional<std::uint32_t> begin() {
    if (!asked_.empty()) {
      std::sort(asked_.begin(), asked_.end(), [](const Copy& a, const Copy& b) { return a.job < b.job; });
      waiting_.insert(waiting_.end(), asked_.begin(), asked_.end());
      asked_.clear();
    }
    if (waiting_.empty() || (one_at_a_time_ && free_.size() < under_way_.size())) return std::nullopt;
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(under_way_.size()));
      under_way_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    under_way_[slot] = waiting_.front();
    waiting_.pop_front();
    return slot;
  }

  const Copy& copy(std::uint32_t slot) const { return under_way_[slot]; }
  Duration time_of(const Copy& copy) const {
    return engine_.latency + transfer_time(copy.size, engine_.bandwidth);
  }
  void finish(std::uint32_t slot) { free_.push_back(slot); }
  void reset() {
    asked_.clear();
    waiting_.clear();
    under_way_.clear();
    free_.clear();
  }

 private:
  CopyEngine engine_;
  bool one_at_a_time_;
  std::vector<Copy> asked_;
  std::deque<Copy> waiting_;
  std::vector<Copy> under_way_;      // by slot
  std::vector<std::uint32_t> free_;  // slots
};

}  // namespace gangway

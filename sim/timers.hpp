// A policy's timers. A cancelled timer leaves its event in the queue, where it has no effect.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/identity.hpp"
#include "sim/event_queue.hpp"

namespace gangway {

class Timers {
 public:
  void reset() {
    events_.clear();
    free_.clear();
  }

  // `push(slot)` inserts the event and returns its sequence number.
  template <typename Push>
  TimerId set(Push push) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(events_.size()));
      events_.push_back(0);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    events_[slot] = last_ = push(slot);
    return {events_[slot] << EventQueue::kIdBits | slot};
  }

  // Whether the timer was ever set, or is the null timer.
  bool known(TimerId timer) const {
    const std::uint64_t slot = timer.value & ((1u << EventQueue::kIdBits) - 1);
    return timer.value == 0 || (slot < events_.size() && timer.value >> EventQueue::kIdBits <= last_);
  }

  void cancel(TimerId timer) {
    const auto slot = static_cast<std::uint32_t>(timer.value & ((1u << EventQueue::kIdBits) - 1));
    if (pending(slot, timer.value >> EventQueue::kIdBits)) release(slot);
  }

  // The slot's event is due: its timer; none if cancelled.
  std::optional<TimerId> due(std::uint32_t slot, std::uint64_t event) {
    if (!pending(slot, event)) return std::nullopt;
    release(slot);
    return TimerId{event << EventQueue::kIdBits | slot};
  }

 private:
  bool pending(std::uint32_t slot, std::uint64_t event) const {
    return slot < events_.size() && event != 0 && events_[slot] == event;
  }
  void release(std::uint32_t slot) {
    events_[slot] = 0;
    free_.push_back(slot);
  }

  std::vector<std::uint64_t> events_;  // by slot: the timer's event, 0 if free
  std::vector<std::uint32_t> free_;
  std::uint64_t last_ = 0;  // event of the latest timer
};

}  // namespace gangway

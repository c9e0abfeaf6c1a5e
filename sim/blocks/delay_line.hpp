// Events that follow others after a fixed delay, in the same order.
#pragma once

#include <deque>

#include "sim/event_queue.hpp"

namespace gangway {

// Tells the world when to look again; its events have no other meaning.
struct Alarm {
  EventQueue& events;
  std::uint32_t event_id;
};

template <typename T>
class DelayLine {
 public:
  DelayLine(Duration delay, Alarm alarm) : delay_(delay), alarm_(alarm) {}

  bool none() const { return delay_ == Duration{}; }
  // `now` never decreases. There must be a delay.
  void push(Time now, const T& what) {
    const Time due = now + delay_;
    if (line_.empty() || line_.back().due != due) alarm_.events.push(due, alarm_.event_id);
    line_.push_back({due, what});
  }
  // Calls follow(what) for everything due.
  template <typename Follow>
  void take(Time now, Follow follow) {
    if (none()) return;  // the usual case, faster than looking into the queue
    for (; !line_.empty() && line_.front().due <= now; line_.pop_front()) follow(line_.front().what);
  }
  void clear() { line_.clear(); }

 private:
  struct Entry {
    Time due;
    T what;
  };
  Duration delay_;
  Alarm alarm_;
  std::deque<Entry> line_;
};

}  // namespace gangway

// What follows something else a fixed time later, in the order in which that happened.
#pragma once

#include <deque>

#include "sim/event_queue.hpp"

namespace gangway {

// Where a delay line says when the world must look again: events of no other meaning.
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
  // Calls follow(what) for all that is due.
  template <typename Follow>
  void take(Time now, Follow follow) {
    if (none()) return;  // most lines, at every instant: quicker than to look into the queue
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

// Order of GPU work: streams, events and the null stream.
#pragma once

#include <unordered_map>
#include <vector>

#include "models/recording/recording.hpp"

namespace gangway::recording {

// Walks over a recording's calls in order. Keeps, per stream, a Value describing what has been submitted to
// it and what it waits for. `Join()(Value& a, const Value& b)` adds b to a; Value{} is empty.
template <typename Value, typename Join>
class StreamOrder {
 public:
  explicit StreamOrder(const Recording& r) : r_(r), of_context_(r.contexts.size()), ends_(r.streams.size()) {
    for (Index s = 0; s < r.streams.size(); ++s) of_context_[r.streams[s].context].push_back(s);
  }

  // What work submitted to the stream now follows. The caller adds the work to it.
  Value& follows(Index stream) {
    wait_for_null(stream);
    return ends_[stream];
  }
  // What the host knows to be over after a call with this order; empty for orders to streams.
  Value of(const Order& order) const {
    switch (order.kind) {
      case OrderKind::context: {
        Value all{};
        if (order.place < of_context_.size())
          for (const Index s : of_context_[order.place]) Join()(all, ends_[s]);
        return all;
      }
      case OrderKind::stream:
        return ends_[order.place];
      case OrderKind::event:
        return of_event(order.recorded);
      case OrderKind::record:
      case OrderKind::wait_event:
        break;
    }
    return {};
  }
  // Notes an order to a stream.
  void note(const Order& order) {
    if (order.kind == OrderKind::record) events_[order.call] = follows(order.place);
    if (order.kind == OrderKind::wait_event) Join()(ends_[order.place], of_event(order.recorded));
  }

 private:
  Value of_event(Index recorded) const {
    const auto found = events_.find(recorded);
    return found != events_.end() ? found->second : Value{};
  }
  // The null stream and blocking streams wait for each other.
  void wait_for_null(Index stream) {
    const Stream& s = r_.streams[stream];
    if (s.kind == StreamKind::non_blocking) return;
    for (const Index other : of_context_[s.context])
      if (other != stream && orders(s.kind, r_.streams[other].kind)) Join()(ends_[stream], ends_[other]);
  }
  static bool orders(StreamKind a, StreamKind b) {
    return b == StreamKind::null || (a == StreamKind::null && b == StreamKind::blocking);
  }

  const Recording& r_;
  std::vector<std::vector<Index>> of_context_;  // streams
  std::vector<Value> ends_;                     // by stream
  std::unordered_map<Index, Value> events_;     // by the call that recorded them
};

// Whether the copy's call returns only when the copy is over. Copies to the device may return earlier.
inline bool host_waits_for(const Recording& r, const Work& work) {
  if (work.kind != WorkKind::copy) return false;
  const Transfer& t = r.transfers[work.shape];
  const bool to_host = t.to == MemoryKind::pageable || t.to == MemoryKind::pinned;
  return to_host && (!t.asynchronous || t.to == MemoryKind::pageable);
}

}  // namespace gangway::recording

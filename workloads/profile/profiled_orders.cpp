#include "workloads/profile/profiled_orders.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gangway::profile {
namespace {

namespace rec = recording;
using rec::CallKind;
using rec::OrderKind;

// GPU's and host's clocks agree within so much.
constexpr std::int64_t kClockError = 10'000;

void put_order(rec::Recording& r, Index call, OrderKind kind, Index place, Index recorded = kNone) {
  if (place == kNone && kind != OrderKind::event) return;
  r.orders.push_back({call, kind, place, recorded});
}

// One of each call, the first that was found.
void sort_orders(std::vector<rec::Order>& orders) {
  std::stable_sort(orders.begin(), orders.end(),
                   [](const rec::Order& a, const rec::Order& b) { return a.call < b.call; });
  orders.erase(std::unique(orders.begin(), orders.end(),
                           [](const rec::Order& a, const rec::Order& b) { return a.call == b.call; }),
               orders.end());
}

// Which calls recorded which events.
class EventRecordings {
 public:
  void add(const EventRecord& e, Index call) {
    if (e.event != 0) calls_[e.event].push_back(call);
    if (e.synchronisation != 0) synchronisations_[e.synchronisation] = call;
  }
  // Once all are there.
  void sort() {
    for (auto& [event, calls] : calls_) std::sort(calls.begin(), calls.end());
  }
  // That call for whose recording the call waits; kNone: it is not known.
  Index awaited(const Wait& w, Index call, const ProfiledCalls& calls) const {
    Index found = kNone;
    const auto by_id = synchronisations_.find(w.synchronisation);
    const auto by_event = calls_.find(w.event);
    if (w.recorded_by != 0) {
      found = calls.of(w.recorded_by);
    } else if (by_id != synchronisations_.end()) {
      found = by_id->second;
    } else if (by_event != calls_.end()) {
      const auto behind = std::lower_bound(by_event->second.begin(), by_event->second.end(), call);
      if (behind != by_event->second.begin()) found = *(behind - 1);
    }
    return found != kNone && found < call ? found : kNone;
  }

 private:
  std::unordered_map<std::uint64_t, std::vector<Index>> calls_;  // by event, in their order
  std::unordered_map<std::uint64_t, Index> synchronisations_;
};

// What the profile says.
void add_told(ProfiledRows& rows, const ProfiledCalls& calls, OpenWaits& open) {
  const Profile& p = rows.profile();
  rec::Recording& r = rows.recording();
  EventRecordings recordings;
  for (const EventRecord& e : p.events) {
    if (e.process != rows.process()) continue;
    const Index call = calls.of(e.correlation);
    if (call == kNone) continue;
    put_order(r, call, OrderKind::record, rows.stream_waited_for(e.context, e.stream));
    recordings.add(e, call);
  }
  recordings.sort();
  for (const Wait& w : p.waits) {
    if (w.process != rows.process()) continue;
    const Index call = calls.of(w.correlation);
    if (call == kNone) continue;
    if (w.kind == WaitKind::event) {
      const Index by = recordings.awaited(w, call, calls);
      if (by == kNone) ++open.unknown;
      put_order(r, call, OrderKind::event, kNone, by);
    } else if (w.kind == WaitKind::stream_for_event) {
      if (const Index by = recordings.awaited(w, call, calls); by != kNone)  // in a capture there is none
        put_order(r, call, OrderKind::wait_event, rows.stream_waited_for(w.context, w.stream), by);
    } else if (w.kind == WaitKind::stream) {
      put_order(r, call, OrderKind::stream, rows.stream_waited_for(w.context, w.stream));
    } else {
      put_order(r, call, OrderKind::context, rows.known_context(w.context));
    }
  }
  sort_orders(r.orders);
}

// `last`: the stream to which the call's thread submitted last; `end`: of the works so far, by stream.
void infer(rec::Recording& r, Index c, Index last, const std::vector<Time>& end, OpenWaits& open) {
  const rec::Call& call = r.calls[c];
  const std::string& name = r.functions[call.function].name;
  if (name.find("EventSynchronize") != std::string::npos) {
    ++open.unknown;
    return put_order(r, c, OrderKind::event, kNone);
  }
  const bool asks = r.kind(call) == CallKind::query;
  const bool of_stream = asks || name.find("StreamSynchronize") != std::string::npos;
  const OrderKind kind = of_stream ? OrderKind::stream : OrderKind::context;
  const bool one = of_stream ? r.streams.size() == 1 : r.contexts.size() == 1;
  if (one) return put_order(r, c, kind, 0);
  // Who waits for a stream returns when its work is over.
  if (last == kNone || end[last] > call.end() + Duration{kClockError}) {
    if (!asks) ++open.unknown;  // else it may have been idle for long
    return;
  }
  ++open.assumed;
  put_order(r, c, kind, of_stream ? last : r.streams[last].context);
}

bool is_of_event(const rec::Recording& r, const rec::Call& call) {
  return r.functions[call.function].name.find("EventQuery") != std::string::npos;
}

// Whether a program may have asked until work was over: what its thread submitted last ended since its call
// before.
bool may_have_waited(const rec::Call& call, Time before, Index last, const std::vector<Time>& end) {
  return last != kNone && end[last] > before && end[last] <= call.end() + Duration{kClockError};
}

// For what calls wait of which the profile says nothing: certain where there is one stream or context.
void add_inferred(rec::Recording& r, OpenWaits& open) {
  std::vector<Index> submitted(r.threads.size(), kNone);  // by thread: the stream of its last work
  std::vector<Time> returned(r.threads.size());           // likewise: from its last call
  std::vector<Time> end(r.streams.size(), Time{INT64_MIN / 2});
  std::size_t work = 0, known = 0;
  const std::size_t orders = r.orders.size();
  for (Index c = 0; c < r.calls.size(); ++c) {
    const rec::Call& call = r.calls[c];
    for (; work < r.works.size() && r.works[work].call == c; ++work) {
      const rec::Work& w = r.works[work];
      submitted[call.thread] = w.stream;
      end[w.stream] = std::max(end[w.stream], w.end());
    }
    const bool has_order = known < orders && r.orders[known].call == c;
    while (known < orders && r.orders[known].call == c) ++known;
    const Time before = std::exchange(returned[call.thread], call.end());
    if (has_order) continue;
    if (r.kind(call) == CallKind::wait_event && r.streams.size() > 1) ++open.unknown_of_streams;
    const bool asks = r.kind(call) == CallKind::query, of_event = asks && is_of_event(r, call);
    if (of_event && may_have_waited(call, before, submitted[call.thread], end)) ++open.unknown;
    if ((asks && !of_event) || r.kind(call) == CallKind::synchronize)
      infer(r, c, submitted[call.thread], end, open);
  }
  sort_orders(r.orders);
}

}  // namespace

OpenWaits add_orders(ProfiledRows& rows, const ProfiledCalls& calls) {
  OpenWaits open;
  add_told(rows, calls, open);
  add_inferred(rows.recording(), open);
  return open;
}

}  // namespace gangway::profile

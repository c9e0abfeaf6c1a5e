#include "workloads/profile/kept_stream.hpp"

#include <vector>

namespace gangway::profile {

void keep_stream(recording::Recording& r, recording::Index kept) {
  namespace rec = recording;
  using rec::Index, rec::kNone, rec::OrderKind;
  const Index kept_context = kept != kNone ? r.streams[kept].context : kNone;
  const auto is_elsewhere = [&](const rec::Order& o) {
    if (o.kind == OrderKind::event) return false;
    return o.place != (o.kind == OrderKind::context ? kept_context : kept);
  };
  std::vector<bool> keeps(r.calls.size());
  for (const rec::Work& w : r.works)
    if (w.stream == kept) keeps[w.call] = true;
  for (const rec::Order& o : r.orders) {
    const bool of_other_event = o.kind == OrderKind::event && (o.recorded == kNone || !keeps[o.recorded]);
    if (!is_elsewhere(o) && !of_other_event) keeps[o.call] = true;
  }
  std::vector<Index> places(r.calls.size(), kNone);
  Index next = 0;
  for (Index c = 0; c < r.calls.size(); ++c)
    if (keeps[c]) places[c] = next++;
  std::erase_if(r.works, [&](const rec::Work& w) { return w.stream != kept; });
  std::erase_if(r.orders, [&](const rec::Order& o) {
    const bool unknown = o.recorded != kNone && places[o.recorded] == kNone;
    return places[o.call] == kNone || is_elsewhere(o) || (unknown && o.kind == OrderKind::wait_event);
  });
  for (rec::Work& w : r.works) {
    w.call = places[w.call];
    w.stream = 0;
  }
  for (rec::Order& o : r.orders) {
    o.call = places[o.call];
    if (o.place != kNone) o.place = 0;
    if (o.recorded != kNone) o.recorded = places[o.recorded];
  }
  for (Index c = 0; c < r.calls.size(); ++c)
    if (keeps[c]) r.calls[places[c]] = r.calls[c];
  r.calls.resize(next);
  if (kept == kNone) return;
  r.streams = {r.streams[kept]};
  r.contexts = {r.contexts[kept_context]};
  r.streams[0].context = 0;
}

}  // namespace gangway::profile

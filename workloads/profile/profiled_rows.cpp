#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

ProfiledRows::ProfiledRows(const Profile& profile, Index process, std::int64_t origin,
                           recording::Recording& recording)
    : p_(profile),
      process_(process),
      origin_(origin),
      r_(recording),
      threads_(p_.threads.size(), kNone),
      gpus_(p_.gpus.size(), kNone),
      functions_(p_.functions.size(), kNone),
      launches_(p_.launches.size(), kNone),
      range_names_(p_.range_names.size(), kNone) {
  for (const Stream& s : p_.streams)
    if (s.process == process_ || s.process == kNone) add_fact(s);
}

Index ProfiledRows::thread(Index of) {
  Index& place = threads_[of];
  if (place == kNone) {
    place = static_cast<Index>(r_.threads.size());
    r_.threads.push_back({0, p_.threads[of].tid, p_.threads[of].name});
  }
  return place;
}

void ProfiledRows::add_fact(const Stream& s) {
  recording::Stream& fact = facts_[{s.context, s.number}];
  if (s.kind == recording::StreamKind::null) {
    fact.kind = s.kind;
    return;
  }
  if (fact.kind != recording::StreamKind::null) fact.kind = s.kind;
  fact.priority = s.priority;
}

// Where a profile has no context it has one.
Index ProfiledRows::context(std::uint32_t number, Index on) {
  const auto [place, is_new] = contexts_.try_emplace(number, static_cast<Index>(r_.contexts.size()));
  if (is_new) r_.contexts.push_back({0, on, number == kUnknown ? 0 : number});
  return place->second;
}

Index ProfiledRows::stream_in(std::uint32_t context, std::uint32_t number, Index of_context) {
  const auto [place, is_new] =
      streams_.try_emplace({of_context, number}, static_cast<Index>(r_.streams.size()));
  if (is_new) {
    recording::Stream s{of_context, number == kUnknown ? 0 : number, recording::StreamKind::blocking, 0};
    if (const auto fact = facts_.find({context, number}); fact != facts_.end()) {
      s.kind = fact->second.kind;
      s.priority = fact->second.priority;
    }
    r_.streams.push_back(s);
  }
  return place->second;
}

Index ProfiledRows::stream(const Work& work) {
  return stream_in(work.context, work.stream, context(work.context, gpu(work.gpu)));
}

Index ProfiledRows::stream_waited_for(std::uint32_t context, std::uint32_t number) {
  if (number == kUnknown) return kNone;
  const auto known = contexts_.find(context);
  if (known != contexts_.end()) return stream_in(context, number, known->second);
  if (contexts_.size() != 1 || context != kUnknown) return kNone;
  return stream_in(contexts_.begin()->first, number, 0);
}

Index ProfiledRows::known_context(std::uint32_t number) const {
  const auto known = contexts_.find(number);
  return known != contexts_.end() ? known->second : kNone;
}

Index ProfiledRows::known_stream(std::uint32_t context, std::uint32_t number) const {
  const auto known = streams_.find({known_context(context), number});
  return known != streams_.end() ? known->second : kNone;
}

}  // namespace gangway::profile

#include "workloads/profile/profiled_calls.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace gangway::profile {
namespace {

struct PlacedCall {
  recording::Call call;
  Index place = 0;  // before it was sorted
};

struct LastCall {
  std::int64_t end = INT64_MIN;
  Index place = 0;
};

}  // namespace

// Calls that were made inside other calls are theirs. Where times are whole microseconds, or clocks of
// several cores differ, one may seem to begin before the one before it ends.
ProfiledCalls::ProfiledCalls(ProfiledRows& rows) {
  const Profile& p = rows.profile();
  recording::Recording& r = rows.recording();
  std::vector<Index> mine;
  for (Index c = 0; c < p.calls.size(); ++c)
    if (rows.is_mine(p.calls[c].thread)) mine.push_back(c);
  std::stable_sort(mine.begin(), mine.end(), [&](Index a, Index b) {
    return std::tie(p.calls[a].begin, p.calls[b].end) < std::tie(p.calls[b].begin, p.calls[a].end);
  });
  std::vector<LastCall> last(p.threads.size());
  std::vector<PlacedCall> calls;
  std::vector<std::pair<std::uint32_t, Index>> correlations;
  for (const Index c : mine) {
    const Call& call = p.calls[c];
    LastCall& before = last[call.thread];
    if (call.begin < before.end && call.end <= before.end) {
      correlations.emplace_back(call.correlation, before.place);
      continue;
    }
    const std::int64_t begin = std::max(call.begin, before.end);
    const auto place = static_cast<Index>(calls.size());
    correlations.emplace_back(call.correlation, place);
    before = {call.end, place};
    calls.push_back({{rows.thread(call.thread), rows.function(call.function), rows.at(begin),
                      Duration{call.end - begin}, call.result, kNone},
                     place});
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const PlacedCall& a, const PlacedCall& b) { return a.call.begin < b.call.begin; });
  std::vector<Index> places(calls.size());
  r.calls.reserve(calls.size());
  for (const PlacedCall& placed : calls) {
    places[placed.place] = static_cast<Index>(r.calls.size());
    r.calls.push_back(placed.call);
  }
  by_correlation_.reserve(correlations.size());
  for (const auto& [correlation, place] : correlations)
    if (correlation != 0) by_correlation_.try_emplace(correlation, places[place]);
  for (const recording::Function& f : r.functions)
    asynchronous_.push_back(f.name.find("Async") != std::string::npos);
}

Index ProfiledCalls::of(std::uint32_t correlation) const {
  const auto known = by_correlation_.find(correlation);
  return known != by_correlation_.end() ? known->second : kNone;
}

}  // namespace gangway::profile

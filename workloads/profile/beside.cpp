#include "workloads/profile/beside.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gangway::profile {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;

// Sorted and without overlaps.
std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> out;
  for (const Interval& i : intervals) {
    if (!out.empty() && i.first <= out.back().second)
      out.back().second = std::max(out.back().second, i.second);
    else
      out.push_back(i);
  }
  return out;
}

bool meets(const std::vector<Interval>& sorted, std::int64_t begin, std::int64_t end) {
  const auto next = std::upper_bound(sorted.begin(), sorted.end(), begin,
                                     [](std::int64_t time, const Interval& i) { return time < i.second; });
  return next != sorted.end() && next->first < end;
}

}  // namespace

WorkTime mark_beside(ProfiledRows& rows, const std::vector<Index>& streams) {
  const Profile& p = rows.profile();
  recording::Recording& r = rows.recording();
  std::vector<std::vector<Interval>> others(p.gpus.size());
  for (Index w = 0; w < p.works.size(); ++w)
    if (streams[w] == kNone) others[p.works[w].gpu].emplace_back(p.works[w].begin, p.works[w].end);
  std::vector<std::vector<Interval>> here(r.gpus.size());
  for (Index g = 0; g < others.size(); ++g)
    if (const Index known = rows.known_gpu(g); known != kNone) here[known] = united(std::move(others[g]));
  WorkTime time;
  for (Index w = 0; w < r.works.size(); ++w) {
    const recording::Work& work = r.works[w];
    time.all += work.length;
    const std::int64_t begin = work.begin.ns + rows.origin();
    if (!meets(here[r.contexts[r.streams[work.stream].context].gpu], begin, begin + work.length.ns)) continue;
    r.beside.push_back(w);
    time.beside += work.length;
  }
  return time;
}

}  // namespace gangway::profile

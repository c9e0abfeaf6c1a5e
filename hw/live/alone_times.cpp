#include "hw/live/alone_times.hpp"

#include <algorithm>
#include <vector>

namespace gangway::live {
namespace {

constexpr std::size_t kStretches = 5;

Duration median(std::vector<Duration> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

}  // namespace

AloneTimes alone_times(std::span<const LiveClient::JobTimes> jobs, bool own_pace) {
  const std::size_t stretches = jobs.size() < 2 * kStretches ? 1 : kStretches;
  std::vector<Duration> means, periods;
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t first = jobs.size() * s / stretches, end = jobs.size() * (s + 1) / stretches;
    Duration sum;
    for (std::size_t j = first; j < end; ++j) {
      const std::int64_t before = j > 0 ? jobs[j - 1].ended : jobs[j].arrived;
      sum += Duration{jobs[j].ended - std::max(jobs[j].arrived, before)};
    }
    means.push_back(Duration{sum.ns / static_cast<std::int64_t>(end - first)});
    const std::size_t from = std::max<std::size_t>(first, 1);  // nothing ended before the first one
    if (from < end)
      periods.push_back(
          Duration{(jobs[end - 1].ended - jobs[from - 1].ended) / static_cast<std::int64_t>(end - from)});
  }
  const Duration mean = median(means);
  // What lies between two requests is no part of the program.
  if (!own_pace || periods.empty()) return {mean, mean};
  return {mean, median(periods)};
}

}  // namespace gangway::live

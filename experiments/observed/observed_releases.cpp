#include "experiments/observed/observed_releases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/studies/release_patterns.hpp"

namespace gangway {
namespace {

constexpr std::uint64_t kNearly = 3;  // runs in which tasks come nearly together

// Those that do not differ only in shorter times.
std::vector<const ReleasePattern*> full_patterns() {
  std::vector<const ReleasePattern*> patterns;
  for (const ReleasePattern& pattern : release_patterns())
    if (!pattern.shorter) patterns.push_back(&pattern);
  return patterns;
}

// A task without a job in the run would tell nothing, nor could a world play it.
std::vector<Duration> not_empty(std::vector<Duration> releases, std::int64_t horizon, Stream& random) {
  if (releases.empty())
    releases.push_back(
        Duration{static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(horizon)))});
  return releases;
}

}  // namespace

TaskReleases with_jitter(std::vector<Duration> nominal, Duration jitter, Stream& random) {
  TaskReleases releases{std::move(nominal), {}};
  std::int64_t last = 0;
  for (const Duration release : releases.nominal) {
    const std::int64_t delay =
        random.below(2) == 0 ? (random.below(2) == 0 ? jitter.ns : 0) : share_of(jitter.ns, random.uniform());
    last = std::max(last, release.ns + delay);
    releases.actual.push_back(Duration{last});
  }
  return releases;
}

Duration pattern_length(const std::vector<ReleasedTask>& tasks, Duration length, std::int64_t periods) {
  const auto runs_in_all = static_cast<std::int64_t>(full_patterns().size() + kNearly);
  Duration each{std::max<std::int64_t>(1, length.ns / runs_in_all)};
  for (const ReleasedTask& task : tasks) each = std::max(each, Duration{task.period.ns * periods});
  return each;
}

std::vector<ReleasedRun> released_runs(const std::vector<ReleasedTask>& tasks, Duration each,
                                       std::uint64_t seed) {
  const auto patterns = full_patterns();
  const std::int64_t horizon = each.ns;
  std::vector<ReleasedRun> runs;
  const auto add = [&](const std::string& name, auto releases) {
    ReleasedRun& run = runs.emplace_back(ReleasedRun{name, {}});
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      Stream random(seed, "observed", {runs.size(), i});
      Stream drawn(seed, "observed releases", {runs.size(), i});
      auto nominal = not_empty(releases(i, drawn), horizon, random);
      run.tasks.push_back(with_jitter(std::move(nominal), tasks[i].jitter, random));
    }
  };
  for (const ReleasePattern* pattern : patterns)
    add(pattern->name, [&](std::size_t i, Stream& drawn) {
      return releases_of(*pattern, tasks[i].period.ns, horizon, drawn);
    });
  // Whoever holds the others up comes a moment before them: in one run those at the end of the list.
  for (std::uint64_t k = 0; k < kNearly; ++k)
    add(fmt::format("nearly together {}", k), [&](std::size_t i, Stream& drawn) {
      Duration most;
      for (const ReleasedTask& task : tasks) most = std::max(most, task.lead);
      const std::int64_t later =
          k == 0 ? (i + 1 == tasks.size() ? 0 : share_of(most.ns, 0.5)) : share_of(most.ns, drawn.uniform());
      std::vector<Duration> nominal;
      for (std::int64_t t = later; t < std::max(horizon, later + 1); t += tasks[i].period.ns)
        nominal.push_back(Duration{t});
      return nominal;
    });
  return runs;
}

}  // namespace gangway

#include "experiments/studies/owner_responses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "experiments/studies/largest_responses.hpp"
#include "experiments/studies/release_patterns.hpp"
#include "experiments/studies/simulated_owners.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

// Jobs as they are released nominally, and later by their jitter, which is part of their response.
struct Releases {
  std::vector<Duration> nominal, actual;
};

Releases delayed(std::vector<Duration> nominal, std::int64_t jitter, Stream random) {
  Releases releases{std::move(nominal), {}};
  std::int64_t last = 0;
  for (const Duration release : releases.nominal) {
    // The longest delay and none alternate often enough for two jobs to come close together.
    const std::int64_t delay =
        random.below(2) == 0 ? (random.below(2) == 0 ? jitter : 0) : share_of(jitter, random.uniform());
    last = std::max(last, release.ns + delay);
    releases.actual.push_back(Duration{last});
  }
  return releases;
}

// A job may take less than c, all jobs of a run the same share of it.
void hurry(Kernel& kernel, Stream random) {
  const std::int64_t time = std::max<std::int64_t>(1, share_of(kernel.time.ns, random.uniform()));
  kernel.time = Duration{time};
  kernel.block_tasks = {time};
}

std::int64_t jobs_until(const OwningTasks& set, const Rational& horizon) {
  Rational jobs;
  for (const OwningTask& task : set.tasks)
    jobs += Rational::ceil_of(horizon, task.period ? *task.period : task.run);
  return jobs.integer().value_or(INT64_MAX);
}

}  // namespace

SimulatedResponses simulate_owners(const OwningTasks& set, const std::string& unit, const Rational& horizon,
                                   std::uint64_t seed) {
  const auto& patterns = release_patterns();
  if (jobs_until(set, horizon) > kMostSimulatedJobs / static_cast<std::int64_t>(kRounds * patterns.size()))
    throw InputError(kSimulateOption, "horizon", horizon.text(),
                     fmt::format("a horizon with at most {} jobs",
                                 kMostSimulatedJobs / static_cast<std::int64_t>(kRounds * patterns.size())));
  const OwnerRuns runs(set, horizon, unit, kSimulateOption, "horizon");
  const Ticks& ticks = runs.ticks();
  SimulatedResponses out;
  out.exact = ticks.exact();
  out.scale = ticks.scale();
  out.tasks.resize(set.tasks.size());
  std::vector<std::uint32_t> order(set.tasks.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint64_t round = 0; round < kRounds; ++round)
    for (std::uint64_t p = 0; p < patterns.size(); ++p) {
      Stream random(seed, "order at ties", {round, p});
      if (round > 0) shuffle(order, random);
      Workload workload;
      std::vector<std::vector<Duration>> nominal;
      for (const std::uint32_t i : order) {
        const OwningTask& task = set.tasks[i];
        Client client = runs.client(i);
        if (patterns[p].shorter) hurry(client.kernels.front(), Stream(seed, "times", {round, p, i}));
        nominal.emplace_back();
        if (task.period) {
          Releases releases = delayed(releases_of(patterns[p], ticks.up(*task.period), ticks.up(horizon),
                                                  Stream(seed, "releases", {round, p, i})),
                                      ticks.floor(task.jitter), Stream(seed, "jitter", {round, p, i}));
          if (releases.nominal.empty()) {
            nominal.pop_back();
            continue;
          }
          client.repeat.releases = std::move(releases.actual);
          client.repeat.jobs = static_cast<std::uint32_t>(releases.nominal.size());
          nominal.back() = std::move(releases.nominal);
        } else {  // the next job comes when one is done
          client.arrive = Duration{patterns[p].first(ticks.down(task.run), random)};
          client.repeat.think = Duration{};
          client.repeat.jobs =
              static_cast<std::uint32_t>(std::max<std::int64_t>(1, ticks.up(horizon) / ticks.down(task.run)));
        }
        workload.clients.push_back(std::move(client));
      }
      LargestResponses largest(nominal.size(), &nominal);
      runs.play(workload, seed + round, largest);
      largest.add_to(out, workload, set.tasks, ticks, patterns[p].name);
    }
  return out;
}

}  // namespace gangway

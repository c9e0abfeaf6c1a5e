#include "experiments/studies/responses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "experiments/running/unmanaged_runs.hpp"
#include "experiments/studies/largest_responses.hpp"
#include "experiments/studies/owner_responses.hpp"
#include "experiments/studies/release_patterns.hpp"
#include "experiments/studies/simulated_taskset.hpp"
#include "models/error.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

// Blocks take any time up to their longest: half of it, give or take a half.
void shorten(Workload& workload) {
  workload.jitter.block_time = 1;
  for (Client& client : workload.clients)
    for (Kernel& kernel : client.kernels)
      kernel.block_task_length = kernel.time = Duration{kernel.time.ns / 2};
}

// Ends of kernels, and how many jobs ended.
class Ends : public TraceSink {
 public:
  explicit Ends(std::function<void(const Record&)> gone) : gone_(std::move(gone)) {}
  void record(const Record& record) override {
    if (record.mark == Mark::gone) gone_(record);
    if (record.mark == Mark::finished) ++jobs_;
  }
  std::uint64_t jobs() const { return jobs_; }

 private:
  std::function<void(const Record&)> gone_;
  std::uint64_t jobs_ = 0;
};

// --- Sporadic tasks
// -------------------------------------------------------------------------------------------------

SimulatedResponses simulate(const SporadicTasks& set, const std::string& unit, const Rational& horizon,
                            std::uint64_t seed) {
  const auto& patterns = release_patterns();
  std::vector<Rational> times{horizon};
  Rational jobs, waves, drained;
  for (const SporadicTask& task : set.tasks) {
    times.push_back(task.grid.block_time());
    times.push_back(task.period);
    const Rational released = Rational::ceil_of(horizon, task.period);
    const Rational of_task = released * waves_of(set.layout, task.grid);
    jobs += released;
    waves += of_task;
    drained += of_task * task.grid.block_time() + task.period * kLongestGap;
  }
  const Rational most(kMostSimulatedJobs / static_cast<std::int64_t>(kRounds * patterns.size()));
  if (waves > most)
    throw InputError(kSimulateOption, "horizon",
                     (jobs > most ? jobs.text() + " jobs" : waves.text() + " waves of blocks") +
                         " for each pattern of releases",
                     "at most " + most.text());
  const Ticks ticks(times, std::max(horizon, drained / Ticks::kBacklog), Ticks::Prefer::fine, unit,
                    kSimulateOption, "horizon");
  SimulatedResponses out;
  out.exact = ticks.exact();
  out.scale = ticks.scale();
  out.tasks.resize(set.tasks.size());
  std::vector<std::uint32_t> order(set.tasks.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint64_t round = 0; round < kRounds; ++round)
    for (std::uint64_t p = 0; p < patterns.size(); ++p) {
      const ReleasePattern& pattern = patterns[p];
      Stream random(seed, "order at ties", {round, p});
      if (round > 0) shuffle(order, random);
      Workload workload;
      for (const std::uint32_t i : order) {
        const SporadicTask& task = set.tasks[i];
        Client client;
        client.name = task.name;
        client.priority = task.priority.value_or(0);
        client.kernels.push_back(kernel_of(task.grid, {ticks.down_to_even(task.grid.block_time())}));
        client.repeat.releases = releases_of(pattern, ticks.up(task.period), ticks.up(horizon),
                                             Stream(seed, "releases", {round, p, i}));
        client.repeat.jobs = static_cast<std::uint32_t>(client.repeat.releases.size());
        if (!client.repeat.releases.empty()) workload.clients.push_back(std::move(client));
      }
      if (workload.clients.empty()) continue;  // all begin after the end
      if (pattern.shorter) shorten(workload);
      Device device = device_of(set.layout, set.order, set.channels,
                                round % 2 == 0 ? Placement::most_room_first : Placement::lowest_index_first);
      if (set.priorities) device.priorities = 1000;
      LargestResponses largest(workload.clients.size());
      UnmanagedRuns(workload, device).play(seed + round, largest);
      largest.add_to(out, workload, set.tasks, ticks, pattern.name);
    }
  return out;
}

// --- Kernels submitted once
// -----------------------------------------------------------------------------------------

constexpr std::uint64_t kOrders = 200;

SimulatedResponses simulate(const OneShotKernels& set, const std::string& unit, std::uint64_t seed) {
  std::vector<Rational> times;
  std::vector<std::size_t> first;  // kernel of a stream among all
  std::size_t kernels = 0;
  Rational longest, waves;
  for (const OneShotStream& stream : set.streams) {
    first.push_back(kernels);
    kernels += stream.kernels.size();
    for (const OneShotKernel& kernel : stream.kernels) {
      times.push_back(kernel.grid.block_time());
      times.push_back(kernel.at);
      longest += kernel.grid.block_time() * kernel.grid.blocks + kernel.at;
      waves += Rational(waves_of(set.layout, kernel.grid));
    }
  }
  const Rational most(kMostSimulatedJobs / static_cast<std::int64_t>(kOrders));
  if (waves > most)
    throw InputError(kSimulateOption, "streams",
                     fmt::format("{} waves of blocks in each of {} orders", waves.text(), kOrders),
                     "at most " + most.text());
  const Ticks ticks(times, longest, Ticks::Prefer::fine, unit, kSimulateOption, "horizon");
  SimulatedResponses out;
  out.exact = ticks.exact();
  out.scale = ticks.scale();
  out.tasks.resize(kernels);
  std::vector<std::uint32_t> order(set.streams.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint64_t round = 0; round < kOrders; ++round) {
    Stream random(seed, "order", {round});
    if (round > 1 && !set.listed) shuffle(order, random);
    Workload workload;
    for (const std::uint32_t s : order) {
      Client client;
      client.name = set.streams[s].name;
      client.arrive = Duration{ticks.whole(set.streams[s].kernels.front().at, "at")};
      for (const OneShotKernel& kernel : set.streams[s].kernels)
        client.kernels.push_back(kernel_of(kernel.grid, {ticks.down_to_even(kernel.grid.block_time())}));
      workload.clients.push_back(std::move(client));
    }
    if (round % 2 == 1) shorten(workload);
    Ends ends([&](const Record& record) {
      auto& worst = out.tasks[first[order[record.job.client.index]] + record.kernel];
      const Rational value = ticks.time(record.time - Time{});
      if (!worst || value > worst->value)
        worst = {value, fmt::format("order {}{}", round, round % 2 == 1 ? ", shorter blocks" : ""), 0};
    });
    const Device device =
        device_of(set.layout, QueueOrder::became_head, set.channels, Placement::most_room_first);
    UnmanagedRuns(workload, device).play(seed + round, ends);
    out.jobs += ends.jobs();
  }
  return out;
}

}  // namespace

Rational simulation_horizon(const TaskSet& set, std::string_view text) {
  const auto value = time_in_unit_of(set, text);
  if (!value || !(*value > Rational(0)))
    throw InputError(kSimulateOption, "horizon", quote(std::string(text)),
                     set.unit.empty()
                         ? "a number above 0 without a unit, such as 1000, as all times of the set"
                         : "a time above 0 (1 s, 1000 ms), or a number of " + set.unit);
  return *value;
}

SimulatedResponses simulate_responses(const TaskSet& set, const Rational& horizon, std::uint64_t seed) {
  if (const auto* sporadic = std::get_if<SporadicTasks>(&set.tasks))
    return simulate(*sporadic, set.unit, horizon, seed);
  if (const auto* once = std::get_if<OneShotKernels>(&set.tasks)) return simulate(*once, set.unit, seed);
  return simulate_owners(std::get<OwningTasks>(set.tasks), set.unit, horizon, seed);
}

}  // namespace gangway

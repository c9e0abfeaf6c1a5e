#include "tests/sim/random_scenario.hpp"

#include <algorithm>

#include "models/random.hpp"

namespace gangway::testing {
namespace {

std::int64_t between(Stream& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

Kernel random_kernel(Stream& random, bool coarse) {
  Kernel kernel;
  kernel.name = "k";
  kernel.time = {between(random, 1, 20) * 500};  // few values, so that ties are common
  kernel.block_tasks = {coarse ? between(random, 1, 50) : kernel.time.ns};
  kernel.transformation_overhead = coarse ? 0.8 + 0.1 * static_cast<double>(random.below(5)) : 1;
  if (random.below(2) == 0)
    kernel.eviction_delay = Duration{between(random, 0, 400)};
  else
    kernel.block_task_length = Duration{between(random, 1, 400)};
  return kernel;
}

}  // namespace

Scenario random_scenario(std::uint64_t number, const Variety& variety) {
  Stream random(number, "scenario", {});
  Scenario scenario;
  scenario.device.commands = {Duration{between(random, 0, 3) * 20}, Duration{between(random, 0, 3) * 15},
                              Duration{between(random, 0, 2) * 5}, Duration{between(random, 0, 2) * 30}};
  const std::int64_t clients = between(random, 1, 7);
  for (std::int64_t c = 0; c < clients; ++c) {
    Client client;
    client.name = std::string(1, static_cast<char>('A' + c));
    client.arrive = Duration{between(random, 0, 10) * 1000};
    client.priority =
        static_cast<std::int32_t>(Stream(number, "priority", {static_cast<std::uint64_t>(c)}).below(4));
    Stream terms(number, "terms", {static_cast<std::uint64_t>(c)});
    if (terms.below(3) > 0) client.slo = Duration{between(terms, 1, 60) * 1000};
    client.weight = static_cast<double>(between(terms, 1, 8)) / 2;
    const std::int64_t kernels = variety.several_kernels ? between(random, 1, 3) : 1;
    for (std::int64_t k = 0; k < kernels; ++k)
      client.kernels.push_back(random_kernel(random, variety.coarse));
    if (variety.copies && random.below(3) == 0) client.copy_in = Bytes{between(random, 1, 2000)};
    if (variety.copies && random.below(3) == 0) client.copy_out = Bytes{between(random, 1, 2000)};
    if (variety.repeats && random.below(3) == 0)
      client.repeat = {static_cast<std::uint32_t>(between(random, 2, 4)),
                       Duration{between(random, 1, 8) * 1000}, std::nullopt};
    else if (variety.repeats && random.below(3) == 0)
      client.repeat = {static_cast<std::uint32_t>(between(random, 2, 4)), std::nullopt,
                       Duration{between(random, 0, 3) * 500}};
    scenario.clients.push_back(client);
  }
  return scenario;
}

Scenario random_owners(std::uint64_t number) {
  Scenario scenario = random_scenario(number);
  Stream random(number, "gpus", {});
  scenario.device.gpus = random.below(2) == 0 ? 2 : 4;
  for (Client& client : scenario.clients) {
    if (random.below(2) == 0) continue;
    client.gpus = GpuSet::none();
    client.gpus.add({static_cast<std::uint32_t>(random.below(2))});
    for (std::uint32_t gpu = 0; gpu < scenario.device.gpus; ++gpu)
      if (random.below(3) == 0) client.gpus.add({gpu});
  }
  return scenario;
}

const std::vector<std::string>& all_policies() {
  // Quanta above the longest block-task (10 us of work in one, 1.2 times that transformed, 1.1 times that
  // with the largest jitter under evictions): shorter ones may never get anything done.
  static const std::vector<std::string> policies = [] {
    std::vector<std::string> all{
        "fcfs",
        "sjf",
        "srt",
        "{name: srt, params: {remaining: stale}}",
        "{name: srt, params: {time_per_task: learnt}}",
        "{name: rr, params: {quantum: 14 us}}",
        "{name: cfs, params: {epoch: 98 us}}",
        "{name: cfs, params: {epoch: 98 us, order: cumulative}}",
        "{name: frs, params: {minimum_quantum: 14 us}}",
        "{name: frs, params: {minimum_quantum: 14 us, denominator: done}}",
        "{name: frs, params: {minimum_quantum: 14 us, time_per_task: learnt}}",
        "piv",
        "{name: piv, params: {evicted: tail}}",
        "{name: dprr, params: {quota: 14 us, aging: 5 us}}",
        "{name: dprr, params: {quota: 14 us, aging: 2 us, arrival_preempts: yes, swap: when-needed}}",
        "{name: dprr, params: {quota: 14 us, quota_priority: dynamic, arrivals: inactive}}",
        "{name: stride, params: {quantum: 14 us}}",
        "{name: rr, params: {quantum: 14 us, linger: 1 us}}",
        "{name: stride, params: {quantum: 14 us, linger: 1 us}}",
        "{name: edf, params: {linger: 1 us}}",
        "{name: frs, params: {minimum_quantum: 14 us, time_per_task: learnt, linger: 1 us}}",
        "{name: dprr, params: {quota: 14 us, aging: 2 us, arrival_preempts: yes, linger: 1 us}}"};
    const auto listed = [&](const std::string& name) {
      return std::any_of(all.begin(), all.end(), [&](const std::string& yaml) {
        return yaml == name || yaml.starts_with("{name: " + name + ",");
      });
    };
    // Every other one that needs no more, as it is without parameters: a new policy needs no line here.
    for (const PolicyEntry& entry : Policies::all()) {
      const auto policy = entry.make(ParameterValues(entry.parameters, std::nullopt));
      if (policy->needs().missing_from({Capability::evict}).none() && !listed(entry.name))
        all.push_back(entry.name);
    }
    return all;
  }();
  return policies;
}

}  // namespace gangway::testing

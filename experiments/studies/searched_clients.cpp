#include "experiments/studies/searched_clients.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/error.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kMostSearchedWaves = 20'000'000;  // of blocks, of one simulation

Client searched_client_named(const std::string& name) {
  Client client;
  client.name = name;
  return client;
}

void limit_waves(const Origin& option, std::int64_t waves, std::int64_t jobs, const std::string& kernel) {
  if (waves > kMostSearchedWaves / jobs)
    throw InputError(
        option, kernel, fmt::format("{} waves of blocks", waves),
        fmt::format("at most {}, as a simulation may have {} jobs of it", kMostSearchedWaves / jobs, jobs));
}

}  // namespace

SearchedClients searched_clients(const SporadicTasks& set, const std::string& unit, const Origin& option) {
  std::vector<Rational> times;
  Rational longest;
  for (const SporadicTask& task : set.tasks) {
    limit_waves(option, waves_of(set.layout, task.grid), kMostJobsSearched, task.name);
    times.push_back(task.grid.block_time());
    times.push_back(task.period);
    longest = std::max(longest, task.period * (2 * kLatestRelease));
    longest += task.grid.block_time() * task.grid.blocks * kMostJobsSearched;
  }
  const Ticks ticks(times, longest, Ticks::Prefer::nanosecond, unit, option, "times");
  SearchedClients clients;
  for (const SporadicTask& task : set.tasks) {
    SearchedClients::One one{searched_client_named(task.name), ticks.up(task.period), 0};
    one.client.priority = task.priority.value_or(0);
    one.client.kernels.push_back(kernel_of(task.grid, {ticks.down(task.grid.block_time())}));
    one.client.kernels.back().name = task.name;
    clients.longest_period = std::max(clients.longest_period, one.period);
    clients.targets.emplace_back(clients.all.size(), 0);
    clients.all.push_back(std::move(one));
  }
  clients.device = device_of(set.layout, set.order, set.channels, Placement::most_room_first);
  if (set.priorities) clients.device.priorities = 1000;
  clients.scale = ticks.scale();
  clients.exact = ticks.exact();
  return clients;
}

SearchedClients searched_clients(const OneShotKernels& set, const std::string& unit, const Origin& option) {
  std::vector<Rational> times;
  Rational longest;
  for (const OneShotStream& stream : set.streams)
    for (const OneShotKernel& kernel : stream.kernels) {
      limit_waves(option, waves_of(set.layout, kernel.grid), 1, kernel.name);
      times.push_back(kernel.grid.block_time());
      times.push_back(kernel.at);
      longest += kernel.grid.block_time() * kernel.grid.blocks + kernel.at;
    }
  const Ticks ticks(times, longest, Ticks::Prefer::nanosecond, unit, option, "times");
  SearchedClients clients;
  clients.ordered = set.listed;
  for (const OneShotStream& stream : set.streams) {
    SearchedClients::One one{searched_client_named(stream.name), 0,
                             ticks.whole(stream.kernels.front().at, "at")};
    for (const OneShotKernel& kernel : stream.kernels) {
      clients.targets.emplace_back(clients.all.size(), one.client.kernels.size());
      one.client.kernels.push_back(kernel_of(kernel.grid, {ticks.down(kernel.grid.block_time())}));
      one.client.kernels.back().name = kernel.name;
    }
    clients.all.push_back(std::move(one));
  }
  clients.device = device_of(set.layout, QueueOrder::became_head, set.channels, Placement::most_room_first);
  clients.scale = ticks.scale();
  clients.exact = ticks.exact();
  return clients;
}

}  // namespace gangway

#include "experiments/studies/simulated_owners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "experiments/studies/release_patterns.hpp"
#include "models/error.hpp"
#include "models/mechanism.hpp"
#include "models/policy.hpp"
#include "models/world.hpp"

namespace gangway {
namespace {

std::vector<Rational> times_of(const OwningTasks& set) {
  std::vector<Rational> times;
  if (set.quantum) times.push_back(*set.quantum);
  for (const OwningTask& task : set.tasks) {
    times.insert(times.end(), {task.run, task.eviction, task.launch, task.jitter});
    if (task.period) times.push_back(*task.period);
  }
  std::erase(times, Rational(0));
  return times;
}

// For Ticks. A job launches and is evicted once for each quantum, or at most once for each job of the others.
Rational longest_of(const OwningTasks& set, const Rational& horizon) {
  Rational latest = horizon, drained;
  for (const OwningTask& task : set.tasks) {
    const Rational& period = task.period ? *task.period : task.run;
    const Rational turns = set.quantum ? Rational::ceil_of(task.run, *set.quantum) : Rational(2);
    latest = std::max(latest, period + task.jitter);
    drained += Rational::ceil_of(horizon, period) * (task.run + turns * (task.launch + task.eviction)) +
               period * kLongestGap;
  }
  return std::max(latest, drained / Ticks::kBacklog);
}

// The costs that each task has by itself; what a drain does is lost.
class OwnCosts : public Mechanism {
 public:
  OwnCosts(const OwningTasks& set, const Ticks& ticks) : set_(set), ticks_(ticks) {}
  CommandDelays delays(const Kernel& kernel, const Device&) const override {
    const auto task = std::find_if(set_.tasks.begin(), set_.tasks.end(),
                                   [&](const OwningTask& t) { return t.name == kernel.name; });
    CommandDelays delays;
    delays.launch = ticks(task->launch);
    delays.drain = ticks(task->eviction);
    return delays;
  }

 private:
  Duration ticks(const Rational& time) const {
    return time > Rational(0) ? Duration{ticks_.floor(time)} : Duration{};
  }
  const OwningTasks& set_;
  const Ticks& ticks_;
};

}  // namespace

OwnerRuns::OwnerRuns(const OwningTasks& set, const Rational& horizon, const std::string& unit,
                     const Origin& origin, const std::string& key)
    : set_(set), ticks_(times_of(set), longest_of(set, horizon), Ticks::Prefer::fine, unit, origin, key) {
  if (set.quantum && !ticks_.exact())
    throw InputError(origin, "quantum", "times of " + set.tasks.front().name + " and others so fine",
                     "round robin with times that are whole in some tick, of which a run has up to 10^15");
}

Client OwnerRuns::client(std::size_t task) const {
  const OwningTask& owner = set_.tasks[task];
  Client client;
  client.name = owner.name;
  client.priority = static_cast<std::int32_t>(set_.tasks.size() - task);
  Kernel kernel;
  kernel.name = owner.name;
  kernel.time = Duration{ticks_.down(owner.run)};
  kernel.block_tasks = {kernel.time.ns};
  client.kernels.push_back(std::move(kernel));
  return client;
}

std::uint64_t OwnerRuns::play(const Workload& workload, std::uint64_t seed, TraceSink& sink) const {
  Device device;
  device.name = "task-set";
  device.memory = Bytes{1};
  const OwnCosts mechanism(set_, ticks_);
  const auto world = Worlds::named("sim", "simulation", "world")
                         .make({.workload = workload, .device = device, .mechanism = mechanism});
  const PolicyEntry& entry = Policies::named(set_.quantum ? "rr" : "piv", "simulation", "policy");
  std::optional<Node> parameters;
  if (set_.quantum)
    parameters = parse_yaml(fmt::format("{{quantum: {} ns}}", ticks_.floor(*set_.quantum)), "quantum");
  const auto policy = entry.make(
      ParameterValues(entry.parameters, parameters ? std::optional(Field(*parameters, "")) : std::nullopt));
  std::vector<std::uint32_t> order(workload.clients.size());
  std::iota(order.begin(), order.end(), 0u);
  return world->run(*policy, {.seed = seed}, order, sink);
}

}  // namespace gangway

#include "models/bounds/measured_costs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/error.hpp"

namespace gangway {
namespace {

std::string text_of_time(const Rational& time, const std::string& unit) {
  return fmt::format("{:.6g}{}{}", time.number(), unit.empty() ? "" : " ", unit);
}

[[noreturn]] void refuse_period(const TaskSet& set, const std::string& task, const Rational& period,
                                const Rational& cost, const char* of) {
  throw InputError({set.name, 0}, fmt::format("tasks.{}.T", task), text_of_time(period, set.unit),
                   fmt::format("more than the {} that {} costs", text_of_time(cost, set.unit), of));
}

[[noreturn]] void refuse(const TaskSet& set, const char* key, const std::string& found,
                         const char* expected) {
  throw InputError({set.name, 0}, key, found, expected);
}

Rational inflate(const TaskSet& whole, OwningTasks& set) {
  if (!set.costs) return 0;
  const OwnerCosts& costs = *set.costs;
  if (set.quantum && *set.quantum <= costs.resume)
    refuse(whole, "quantum", text_of_time(*set.quantum, whole.unit),
           "more than what a relaunch loses (costs.resume)");
  for (OwningTask& task : set.tasks) {
    task.run += costs.ending;
    task.launch += costs.launch;
    if (set.quantum) {
      // A turn is as much longer as the end of its quantum is handled late; of its q, resume may be lost.
      task.launch += costs.lateness;
      task.run = task.run * *set.quantum / (*set.quantum - costs.resume);
    } else {
      task.launch += costs.resume;
    }
    // Whoever comes while a kernel's end is being noticed waits for that in the place of an eviction.
    task.eviction = std::max(task.eviction + costs.eviction, costs.ending);
    if (task.period) task.jitter += costs.lateness;
    if (task.period && *task.period <= task.launch + costs.lateness)
      refuse_period(whole, task.name, *task.period, task.launch + costs.lateness, "a launch");
  }
  const bool back_to_back =
      std::any_of(set.tasks.begin(), set.tasks.end(), [](const OwningTask& task) { return !task.period; });
  if (back_to_back)
    refuse(whole, "tasks", "a task without T beside costs", "T for every task, because releases are timed");
  set.costs.reset();
  return 0;
}

Rational inflate(const TaskSet& whole, SporadicTasks& set) {
  if (!set.costs) return 0;
  if (set.order != QueueOrder::became_head)
    refuse(whole, "order", name_of(set.order), "became-head, the order of hardware queues");
  if (set.priorities) refuse(whole, "priorities", "true", "false: no bound covers stream priorities");
  if (set.tasks.size() < 2) refuse(whole, "tasks", "one task", "at least two, which wait for each other");
  const QueueCosts& costs = *set.costs;
  const Rational later = costs.lateness + costs.issue + costs.clock;
  for (SporadicTask& task : set.tasks) {
    const Rational threads(task.grid.blocks * task.grid.threads);
    // Its own blocks' refills, and those that its predecessor's blocks have still to come.
    task.grid.work += threads * (costs.refill * 2 + costs.stream);
    task.grid.work += costs.change * set.layout.total();
    if (task.period <= later) refuse_period(whole, task.name, task.period, later, "a launch");
    task.period -= later;
  }
  set.costs.reset();
  return later;
}

Rational inflate(const TaskSet& whole, OneShotKernels&) {
  refuse(whole, "streams", "kernels submitted once", "tasks that release jobs repeatedly");
}

}  // namespace

InflatedSet with_costs(const TaskSet& set) {
  InflatedSet out{set, 0};
  out.later = std::visit([&](auto& tasks) { return inflate(set, tasks); }, out.set.tasks);
  return out;
}

BoundReport bound_with_costs(const TaskSet& set) {
  if (std::holds_alternative<OneShotKernels>(set.tasks)) return bound_responses(set);
  const InflatedSet inflated = with_costs(set);
  BoundReport report = bound_responses(inflated.set);
  const auto* sporadic = std::get_if<SporadicTasks>(&set.tasks);
  if (sporadic == nullptr || !sporadic->costs) return report;
  for (const BoundedTask& task : report.tasks)
    if (!task.busy_while_blocked)
      refuse(set, "tasks", fmt::format("{}, which never waits for room", task.name),
             "tasks that may all have to wait, for bounds with costs");
  for (AppliedBound& applied : report.bounds)
    for (BoundOrUnmet& bound : applied.result.tasks)
      if (auto* value = std::get_if<Rational>(&bound)) *value += inflated.later;
  return report;
}

namespace {

// `error` at the line of its key, which is a path in the file.
[[noreturn]] void throw_at_line(const InputError& error, Node file) {
  const Origin origin = place(file, error.key(), file.origin()).origin();
  throw InputError(origin, error.key(), error.found(), error.expected());
}

}  // namespace

void check_costs(const TaskSet& set, const Node& file) {
  if (std::holds_alternative<OneShotKernels>(set.tasks)) return;
  try {
    static_cast<void>(with_costs(set));
  } catch (const InputError& error) {
    throw_at_line(error, file);
  }
}

BoundReport bound_with_costs(const TaskSet& set, const Node& file) {
  try {
    return bound_with_costs(set);
  } catch (const InputError& error) {
    throw_at_line(error, file);
  }
}

}  // namespace gangway

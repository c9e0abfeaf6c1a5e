// T8: one kernel owns the GPU at a time, round robin. Before each turn of a task every other task has one.
#include <algorithm>

#include "models/bounds/bound.hpp"

namespace gangway {
namespace {

BoundResult bound_t8(const OwningTasks& set) {
  if (!set.quantum) return nowhere(set.tasks.size(), {"scheduler: round-robin", {}});
  const Rational& quantum = *set.quantum;
  const auto turn = [&](const OwningTask& task) {
    return task.launch + (task.run > quantum ? quantum + task.eviction : task.run);
  };
  Rational round;
  for (const OwningTask& task : set.tasks) round += turn(task);
  BoundResult result;
  for (const OwningTask& task : set.tasks) {
    const Rational turns = Rational::ceil_of(task.run, quantum);
    Rational R = task.run + turns * task.launch + (turns - 1) * task.eviction + turns * (round - turn(task));
    R += task.jitter;
    if (task.period && R > *task.period)  // a job could meet its predecessor in the ring
      result.tasks.emplace_back(Unmet{
          "R_i <= T_i", {{"R_i", std::move(R), task.name, true}, {"T_i", *task.period, task.name, true}}});
    else
      result.tasks.emplace_back(std::move(R));
  }
  return result;
}

const BoundRegistration registered_t8{"T8", "one owner at a time, round robin, evictions and relaunches",
                                      bound_t8};

}  // namespace
}  // namespace gangway

// T1b: while no job is released before its predecessor is complete, all queue orders are the same one.
#include <algorithm>

#include "models/bounds/sporadic.hpp"

namespace gangway {
namespace {

BoundResult bound_t1b(const SporadicAnalysis& set) {
  const auto& tasks = set.tasks();
  const auto late =
      std::find_if(tasks.begin(), tasks.end(), [](const auto& task) { return task.H > task.T; });
  if (late != tasks.end())
    return nowhere(set.size(), {"H_j <= T_j for every task",
                                {{"H_j", late->H, late->name, true}, {"T_j", late->T, late->name, true}}});
  BoundResult result;
  for (const auto& task : tasks) result.tasks.emplace_back(task.H);
  return result;
}

const BoundRegistration registered_t1b{
    "T1b",
    "T1 for every task at once, whatever the queue order",
    bound_t1b,
    {QueueOrder::became_head, QueueOrder::release_ready, QueueOrder::release_all},
    true};

}  // namespace
}  // namespace gangway

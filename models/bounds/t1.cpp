// T1: one job, counted against one job of every other task. No condition on utilisation, but it speaks of a
// job from when it becomes the head of its stream; that is its release while H_i <= T_i.
#include "models/bounds/sporadic.hpp"

namespace gangway {
namespace {

using Task = SporadicAnalysis::Task;

template <typename Length>
BoundResult from_head_to_completion(const SporadicAnalysis& set, std::string_view name, Length length) {
  BoundResult result;
  for (const Task& task : set.tasks()) {
    Rational H = length(task);
    if (H <= task.T)
      result.tasks.emplace_back(std::move(H));
    else
      result.tasks.emplace_back(
          Unmet{std::string(name) + " <= T_i",
                {{name, std::move(H), task.name, true}, {"T_i", task.T, task.name, true}}});
  }
  return result;
}

BoundResult knapsack(const SporadicAnalysis& set) {
  return from_head_to_completion(set, "H_i", [](const Task& task) { return task.H; });
}

BoundResult t1_closed(const SporadicAnalysis& set) {
  if (!set.least_busy()) return set.unblocked();
  return from_head_to_completion(set, "H*_i",
                                 [&](const Task& task) { return set.closed_form(task, *set.least_busy()); });
}

const BoundRegistration registered_t1{"T1",
                                      "one job against one of each other task, knapsack over the capacities",
                                      knapsack,
                                      {QueueOrder::became_head},
                                      true};
const BoundRegistration registered_t1_closed{"T1-closed",
                                             "the same with M* for every capacity: sum C / M* + kappa_i",
                                             t1_closed,
                                             {QueueOrder::became_head},
                                             true};

}  // namespace
}  // namespace gangway

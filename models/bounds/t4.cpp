// T4: release order and any number of blocks. A task whose blocks are spread out lets others in between, so
// more slack is needed than for T3.
#include <algorithm>

#include "models/bounds/release_order.hpp"

namespace gangway {
namespace {

BoundResult bound_t4(const SporadicAnalysis& set) {
  if (!set.least_busy()) return set.unblocked();
  if (auto why = overloaded(set)) return nowhere(set.size(), *why);
  const Rational M = *set.least_busy();
  Rational longest, losses;
  for (const auto& task : set.tasks()) {
    longest = std::max(longest, task.w);
    losses += task.u * set.tail_loss(task);
  }
  for (const auto& task : set.tasks()) {
    const Rational kappa = set.tail_loss(task);
    if (task.T < kappa)
      return nowhere(set.size(), {"T_j >= kappa_j for every task",
                                  {{"T_j", task.T, task.name, true}, {"kappa_j", kappa, task.name, true}}});
    // What may run when J's predecessor ends, and what is released while J waits, is done within a period.
    const Rational needed = longest * set.m() + set.utilisation() * (task.T - kappa) + losses + M * kappa;
    if (task.T * M < needed)
      return nowhere(set.size(),
                     {"T_j >= (m max w + U (T_j - kappa_j) + sum u kappa) / M* + kappa_j for every task",
                      {{"T_j", task.T, task.name, true}, {"needed", needed / M, task.name, true}}});
  }
  const ReleaseOrder order(set);
  const auto Y = order.delay();
  if (!Y)
    return nowhere(set.size(),
                   {"M* > sum of u over tasks pending at once", {{"M*", M, ""}}, !order.pending_sets()});
  BoundResult result;
  for (const auto& task : set.tasks()) result.tasks.emplace_back(*Y + set.tail_loss(task));
  result.figures = {{"Y", *Y, "", true}};
  order.tell(result);
  return result;
}

const BoundRegistration registered_t4{
    "T4", "release order, any grid, with slack", bound_t4, {QueueOrder::release_ready}, false};

}  // namespace
}  // namespace gangway

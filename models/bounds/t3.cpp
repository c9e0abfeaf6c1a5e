// T3: release order and kernels of one block. Whoever is pending runs, and its successor takes the threads it
// leaves; so utilisation up to M* suffices.
#include <algorithm>

#include "models/bounds/release_order.hpp"

namespace gangway {
namespace {

using Task = SporadicAnalysis::Task;

constexpr std::int64_t kMostStepsOfT3 = 500'000;  // tasks and sets of tasks looked at by the refinement

std::optional<Unmet> unmet(const SporadicAnalysis& set) {
  for (const Task& task : set.tasks())
    if (task.g != 1) return Unmet{"g_j = 1 for every task", {{"g_j", Rational(task.g), task.name}}};
  for (const Task& task : set.tasks())
    if (task.w > task.T)
      return Unmet{"w_j <= T_j for every task",
                   {{"w_j", task.w, task.name, true}, {"T_j", task.T, task.name, true}}};
  return set.least_busy() ? overloaded(set) : std::nullopt;
}

BoundResult delayed_by(const SporadicAnalysis& set, const Rational& Y) {
  BoundResult result;
  for (const Task& task : set.tasks()) result.tasks.emplace_back(Y + set.tail_loss(task));
  result.figures = {{"Y", Y, "", true}};
  return result;
}

BoundResult t3_closed(const SporadicAnalysis& set) {
  if (auto why = unmet(set)) return nowhere(set.size(), *why);
  if (!set.least_busy()) return set.unblocked();
  const ReleaseOrder order(set);
  BoundResult result = delayed_by(set, *order.delay());  // u_j <= b_j here, so no denominator is below 1
  order.tell(result);
  return result;
}

// Y from whole numbers of releases: the least Y with M* Y >= what can be left of the work released in any
// busy stretch, where the pending tasks bring the jobs of their last R_j = Y + kappa_j.
class WholeReleases {
 public:
  WholeReleases(const SporadicAnalysis& set, const std::vector<ReleaseOrder::Members>& sets)
      : set_(set), sets_(sets), M_(*set.least_busy()), steps_(kMostStepsOfT3) {}

  // None when the steps do not suffice.
  std::optional<Rational> solve() {
    Y_ = set_.work() / M_;
    for (;;) {
      const auto left = most_left();
      if (!left) return std::nullopt;
      if (*left <= M_ * Y_) return Y_;
      Y_ = *left / M_;
    }
  }

 private:
  // The supremum over lengths l >= 0 of the stretch. It is approached just after a release enters the count,
  // so the counts are one more than the quotients rounded down, also at l = 0.
  std::optional<Rational> most_left() {
    start();
    const Rational fluid = fluid_work();
    const Rational slack = M_ - set_.utilisation();
    Rational most;
    for (Rational length;;) {
      most = std::max(most, *std::max_element(works_.begin(), works_.end()) - M_ * length);
      length = std::min(*std::min_element(next_.begin(), next_.end()),
                        *std::min_element(next_pending_.begin(), next_pending_.end()));
      if (fluid - slack * length <= std::max(most, M_ * Y_)) return most;
      if (!steps_.take(static_cast<std::int64_t>(set_.size() + sets_.size()))) return std::nullopt;
      for (std::size_t j = 0; j < set_.size(); ++j) {
        const Task& task = set_.tasks()[j];
        if (next_[j] == length) {
          next_[j] += task.T;
          count(j, false, task.C);
        }
        if (next_pending_[j] == length) {
          next_pending_[j] += task.T;
          count(j, true, task.C);
        }
      }
    }
  }

  void start() {
    works_.assign(sets_.size(), Rational(0));
    next_.clear();
    next_pending_.clear();
    for (std::size_t j = 0; j < set_.size(); ++j) {
      const Task& task = set_.tasks()[j];
      const Rational R = Y_ + set_.tail_loss(task);
      const Rational pending = Rational::floor_of(R, task.T) + 1;
      next_.push_back(task.T);
      next_pending_.push_back(pending * task.T - R);
      count(j, false, task.C);
      count(j, true, pending * task.C);
    }
  }

  void count(std::size_t j, bool pending, const Rational& work) {
    for (std::size_t s = 0; s < sets_.size(); ++s)
      if (sets_[s][j] == pending) works_[s] += work;
  }

  // What is left at length l is at most this less (M* - U) l.
  Rational fluid_work() const {
    Rational pending;
    for (const auto& members : sets_) {
      Rational sum;
      for (std::size_t j = 0; j < set_.size(); ++j)
        if (members[j]) sum += set_.tasks()[j].u * (Y_ + set_.tail_loss(set_.tasks()[j]));
      pending = std::max(pending, sum);
    }
    return set_.work() + pending;
  }

  const SporadicAnalysis& set_;
  const std::vector<ReleaseOrder::Members>& sets_;
  Rational M_, Y_;
  Steps steps_;
  std::vector<Rational> works_;         // per set S: work released up to now, counted for S pending
  std::vector<Rational> next_;          // per task: the length at which the next release counts
  std::vector<Rational> next_pending_;  // the same for pending tasks
};

BoundResult whole_releases(const SporadicAnalysis& set) {
  if (auto why = unmet(set)) return nowhere(set.size(), *why);
  if (!set.least_busy()) return set.unblocked();
  const Rational M = *set.least_busy();
  if (set.utilisation() == M)
    return nowhere(set.size(), {"U < M*", {{"U", set.utilisation(), ""}, {"M*", M, ""}}});
  const ReleaseOrder order(set);
  if (!order.pending_sets())
    return nowhere(set.size(), {"few enough sets of pending tasks to go through", {}, true});
  const auto Y = WholeReleases(set, *order.pending_sets()).solve();
  if (!Y) return nowhere(set.size(), {"a refinement that converges within the steps allowed", {}, true});
  return delayed_by(set, *Y);
}

const BoundRegistration registered_t3{"T3",
                                      "release order, one block each: U <= M*, whole numbers of releases",
                                      whole_releases,
                                      {QueueOrder::release_ready},
                                      false};
const BoundRegistration registered_t3_closed{"T3-closed",
                                             "release order, one block each: U <= M*, closed form",
                                             t3_closed,
                                             {QueueOrder::release_ready},
                                             false};

}  // namespace
}  // namespace gangway

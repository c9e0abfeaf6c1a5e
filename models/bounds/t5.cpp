// T5: a bound on all unfinished work, and from it one on responses, under slack (C5): sigma_i > 0 for all
// tasks. It uses no more of the queue than that a ready job that waits keeps M* threads busy.
#include <fmt/format.h>

#include <algorithm>

#include "models/bounds/sporadic.hpp"

namespace gangway {
namespace {

using Task = SporadicAnalysis::Task;

// Tasks looked at: in the search for lambda, and for all windows.
constexpr std::int64_t kMostStepsOfT5 = 2'000'000;

class Backlog {
 public:
  // Only for sets in which something blocks and that have the slack.
  explicit Backlog(const SporadicAnalysis& set) : set_(set), M_(*set.least_busy()) {
    find_lambda();
    for (const Task& task : set.tasks()) most_ += Rational::ceil_of(lambda_, task.T) * task.C;
  }

  std::vector<Figure> figures() const { return {{"lambda", lambda_, "", true}, {"B*", most_, "", true}}; }

  // Of the fluid demand: largest for the first job of a pending interval.
  Rational closed_form(const Task& task) const { return fluid(task, 1); }

  // What stands in the place of lambda or of windows of the last response(), where their search stopped at
  // its step limit.
  const std::string& looser() const { return looser_windows_.empty() ? looser_lambda_ : looser_windows_; }

  // The most that a job can take over the jobs of a pending interval, from the first on or from one for which
  // it is known that earlier ones take less; `at_most(k)` may bound the k-th window in another way.
  template <typename AtMost>
  Rational response(std::size_t i, std::int64_t first, AtMost at_most) {
    const Task& task = set_.tasks()[i];
    std::optional<Rational> most;
    Rational length;
    Steps steps(kMostStepsOfT5 / static_cast<std::int64_t>(set_.size()));
    looser_windows_.clear();
    for (std::int64_t k = first;; ++k) {
      if (!grow(i, k, length, steps)) {
        looser_windows_ = fmt::format("windows of {} jobs or more are bounded by the fluid demand", k);
        return std::max(most.value_or(0), fluid(task, k));
      }
      const Rational window = at_most(k, length);
      const Rational response = window - task.T * (k - 1);
      if (!most || response > *most) most = response;
      if (window <= task.T * k || fluid(task, k + 1) <= *most) return *most;
    }
  }

  // The last job of a pending interval for which k H_i is surely no longer than L_{i,k}; at least the first.
  // Where H_i > T_i, k H_i - (k - 1) T_i grows with k, so no earlier job takes longer.
  std::int64_t last_within_t1(const Task& task) const {
    if (task.H <= task.T) return 1;
    const Rational room = M_ - set_.utilisation() + task.u;  // L_{i,k} >= (B* + k (C_i + K_i)) / room
    const auto k = Rational::floor_of(most_, task.H * room - task.C - task.K).integer();
    return std::max<std::int64_t>(1, k.value_or(1));
  }

 private:
  // The supremum of the lengths at which some net_i is positive: the greatest fixed point of the demand just
  // below a length over M*, from an upper bound downwards. Every length on the way bounds it too, so giving
  // up early is sound.
  void find_lambda() {
    Steps steps(kMostStepsOfT5);
    for (std::size_t i = 0; i < set_.size(); ++i) {
      const Task& task = set_.tasks()[i];
      const Rational sigma = M_ - set_.utilisation() - task.K / task.T;
      Rational length = (set_.work() + task.K) / sigma;
      while (length > lambda_) {
        Rational demand = Rational::ceil_of(length, task.T) * task.K;
        for (const Task& other : set_.tasks()) demand += Rational::ceil_of(length, other.T) * other.C;
        const Rational next = demand / M_;
        if (next >= length) break;
        if (!steps.take(cost())) {
          looser_lambda_ = "lambda is only bounded from above";
          break;
        }
        length = next;
      }
      lambda_ = std::max(lambda_, length);
    }
  }

  std::int64_t cost() const { return static_cast<std::int64_t>(set_.size()) * set_.step_cost(); }

  // No less than the response of the k-th job, and falling with k.
  Rational fluid(const Task& task, std::int64_t k) const {
    const Rational demand = most_ + set_.work() + (task.C + task.K) * k - task.C;
    return demand / (M_ - set_.utilisation() + task.u) - task.T * (k - 1);
  }

  // Lengthens `length` to L_{i,k}; it is at most that before. Whether the steps sufficed.
  bool grow(std::size_t i, std::int64_t k, Rational& length, Steps& steps) const {
    const Task& task = set_.tasks()[i];
    const Rational own = most_ + (task.C + task.K) * k;
    // No less than the fluid demand needs.
    const Rational room = M_ - set_.utilisation() + task.u;
    length = std::max(length, Rational::floor_of(own, room));
    for (;;) {
      Rational demand = own;
      for (std::size_t j = 0; j < set_.size(); ++j) {
        if (j == i) continue;
        const Task& other = set_.tasks()[j];
        demand += std::max(Rational(1), Rational::ceil_of(length, other.T)) * other.C;
      }
      const Rational next = demand / M_;
      if (next <= length) return true;
      if (!steps.take(cost())) return false;
      length = next;
    }
  }

  const SporadicAnalysis& set_;
  Rational M_;
  Rational lambda_, most_;  // most_ is B*
  std::string looser_lambda_, looser_windows_;
};

template <typename Response>
BoundResult under_slack(const SporadicAnalysis& set, Response response, bool with_figures = false) {
  if (!set.least_busy()) return set.unblocked();
  for (const Task& task : set.tasks()) {
    const Rational sigma = Rational(*set.least_busy()) - set.utilisation() - task.K / task.T;
    if (sigma <= Rational(0))
      return nowhere(set.size(), {"sigma_j > 0 for every task", {{"sigma_j", sigma, task.name}}});
  }
  Backlog backlog(set);
  BoundResult result;
  for (std::size_t i = 0; i < set.size(); ++i) {
    result.tasks.emplace_back(response(backlog, i));
    if (!backlog.looser().empty()) result.looser[i] = backlog.looser();
  }
  if (with_figures) result.figures = backlog.figures();
  return result;
}

BoundResult any_order(const SporadicAnalysis& set) {
  const auto response = [](Backlog& backlog, std::size_t i) {
    return backlog.response(i, 1, [](std::int64_t, const Rational& length) { return length; });
  };
  return under_slack(set, response, true);
}

// T1 says that each job of a pending interval takes H_i at most.
BoundResult with_t1(const SporadicAnalysis& set) {
  return under_slack(set, [&](Backlog& backlog, std::size_t i) {
    const Task& task = set.tasks()[i];
    return backlog.response(i, backlog.last_within_t1(task), [&](std::int64_t k, const Rational& length) {
      return std::min(length, task.H * k);
    });
  });
}

BoundResult t5_closed(const SporadicAnalysis& set) {
  return under_slack(set,
                     [&](Backlog& backlog, std::size_t i) { return backlog.closed_form(set.tasks()[i]); });
}

const std::vector<QueueOrder> kBusyOrders{QueueOrder::became_head, QueueOrder::release_ready};

const BoundRegistration registered_t5{"T5", "backlog under slack, windows of several jobs", any_order,
                                      kBusyOrders, true};
const BoundRegistration registered_t5_closed{"T5-closed", "backlog under slack, closed form", t5_closed,
                                             kBusyOrders, true};
const BoundRegistration registered_t5_with_t1{"T5-with-T1",
                                              "backlog under slack, and k jobs take k H_i at most",
                                              with_t1,
                                              {QueueOrder::became_head},
                                              true};

}  // namespace
}  // namespace gangway

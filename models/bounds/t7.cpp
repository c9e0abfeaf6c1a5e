// T7: one kernel owns the GPU at a time, fixed priorities, evictions that take time (as in EffiSha). The
// level-i busy window of fixed-priority analysis, where an arrival also pays for the eviction and the
// relaunch of whom it evicts.
#include <algorithm>

#include "models/bounds/bound.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kMostStepsOfT7 = 1'000'000;  // for one task

class Level {
 public:
  Level(const std::vector<OwningTask>& tasks, std::size_t i) : tasks_(tasks), i_(i) {
    for (std::size_t k = i + 1; k < tasks.size(); ++k) blocking_ = std::max(blocking_, change(k));
    // Whom an arrival of j evicts: the dearest of those between it and task i.
    Rational dearest;
    costs_.resize(i);
    for (std::size_t j = i; j-- > 0;) {
      dearest = std::max(dearest, change(j + 1));
      costs_[j] = tasks[j].run + tasks[j].launch + dearest;
    }
  }

  BoundOrUnmet response() const {
    const OwningTask& task = tasks_[i_];
    const Rational each = task.run + task.launch;
    Rational demand = each / *task.period;
    for (std::size_t j = 0; j < i_; ++j) demand += costs_[j] / *tasks_[j].period;
    if (demand > Rational(1)) return Unmet{"a demand of at most 1", {{"demand", demand, task.name}}};
    Steps steps(kMostStepsOfT7);
    Rational window, most;
    for (std::int64_t q = 1;; ++q) {
      if (!grow(each * q, window, steps))
        return Unmet{"a busy window that closes within the steps allowed",
                     {{"reached", window, task.name, true}},
                     true};
      most = std::max(most, window - *task.period * (q - 1) + task.jitter);
      if (window + task.jitter <= *task.period * q) return most;
    }
  }

 private:
  Rational change(std::size_t k) const { return tasks_[k].eviction + tasks_[k].launch; }

  // Lengthens `window` to W_q, the least one that holds its demand.
  bool grow(const Rational& own, Rational& window, Steps& steps) const {
    for (;;) {
      Rational next = blocking_ + own;
      for (std::size_t j = 0; j < i_; ++j)
        next += std::max(Rational(1), Rational::ceil_of(window + tasks_[j].jitter, *tasks_[j].period)) *
                costs_[j];
      if (next <= window) return true;
      if (!steps.take()) return false;
      window = std::move(next);
    }
  }

  const std::vector<OwningTask>& tasks_;
  std::size_t i_;
  Rational blocking_;
  std::vector<Rational> costs_;  // of one job of each higher priority
};

BoundResult bound_t7(const OwningTasks& set) {
  if (set.quantum) return nowhere(set.tasks.size(), {"scheduler: fixed-priority", {}});
  if (!std::all_of(set.tasks.begin(), set.tasks.end(), [](const OwningTask& t) { return t.period; }))
    return nowhere(set.tasks.size(), {"T for every task", {}});
  BoundResult result;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) result.tasks.push_back(Level(set.tasks, i).response());
  return result;
}

const BoundRegistration registered_t7{"T7", "one owner at a time, fixed priorities, evictions and relaunches",
                                      bound_t7};

}  // namespace
}  // namespace gangway

#include "models/bounds/sporadic.hpp"

#include <algorithm>

#include "models/bounds/blocking.hpp"

namespace gangway {

SporadicAnalysis::SporadicAnalysis(const SporadicTasks& set) : set_(&set) {
  for (const SporadicTask& given : set.tasks) {
    Task task;
    task.name = given.name;
    task.g = given.grid.blocks;
    task.b = given.grid.threads;
    task.C = given.grid.work;
    task.T = given.period;
    task.w = given.grid.block_time();
    task.u = task.C / task.T;
    utilisation_ += task.u;
    tasks_.push_back(std::move(task));
  }
  find_capacities();
  choose_scale();
  const std::vector<Rational> once(size(), 1);
  for (Task& task : tasks_) work_ += task.C;
  for (std::size_t i = 0; i < size(); ++i) tasks_[i].H = longest_wait(i, work_, once, 1);
}

// Lemma 0.
void SporadicAnalysis::find_capacities() {
  std::vector<StreamGrids> streams;
  for (const SporadicTask& task : set_->tasks) streams.push_back({task.grid});
  const auto busy = threads_busy_while_blocked(set_->layout, streams);
  for (std::size_t h = 0; h < size(); ++h) {
    tasks_[h].M = busy[h].front();
    if (!tasks_[h].M) continue;
    by_capacity_.push_back(h);
    least_busy_ = std::min(least_busy_.value_or(INT64_MAX), *tasks_[h].M);
  }
  std::sort(by_capacity_.begin(), by_capacity_.end(),
            [&](std::size_t a, std::size_t b) { return *tasks_[a].M < *tasks_[b].M; });
}

// Makes block times and periods whole, and what is divided by a capacity afterwards as well, unless the unit
// becomes so small that whole numbers would no longer be short. Then derives K and D.
void SporadicAnalysis::choose_scale() {
  const Rational largest = std::int64_t{1} << 40;
  Rational scale = 1;
  const auto multiply = [&](const Rational& by) {
    const Rational larger = Rational::common_multiple(scale, by);
    if (larger <= largest) scale = larger;
  };
  for (const Task& task : tasks_) multiply(Rational::common_denominator(task.w, task.T));
  if (least_busy_) multiply(*least_busy_);
  for (const std::size_t h : by_capacity_) multiply(*tasks_[h].M);
  scale_ = scale;
  for (Task& task : tasks_) {
    for (Rational* time : {&task.C, &task.T, &task.w}) {
      *time = *time * scale_;
      short_ = short_ && time->integer().value_or(INT64_MAX) < (std::int64_t{1} << 50);
    }
    if (least_busy_) task.K = task.w * std::max<std::int64_t>(0, *least_busy_ - task.b);
  }
  for (std::size_t h = 0; h < size(); ++h) {
    Rational others;
    for (std::size_t j = 0; j < size(); ++j)
      if (j != h) others = std::max(others, tasks_[j].w);
    Task& task = tasks_[h];
    const std::int64_t at_once = set_->layout.sms * (set_->layout.threads / task.b);
    task.D = others + Rational((task.g + at_once - 1) / at_once - 1) * task.w;
  }
}

Rational SporadicAnalysis::tail_loss(const Task& task) const {
  return least_busy_ ? task.K / Rational(*least_busy_) : Rational(0);
}

// A fractional knapsack in which every item is worth the time it takes: lightest first.
Rational SporadicAnalysis::longest_wait(std::size_t task, const Rational& work,
                                        const std::vector<Rational>& jobs, const Rational& own) const {
  Rational left = work;
  Rational time;
  const auto fill = [&](std::int64_t weight, const Rational& most) {
    const Rational all = most * weight;
    if (all >= left) {
      time += left / Rational(weight);
      left = 0;
      return false;
    }
    time += most;
    left -= all;
    return true;
  };
  bool tail = false;
  const std::int64_t b = tasks_[task].b;
  for (const std::size_t h : by_capacity_) {
    if (!tail && b < *tasks_[h].M) {
      tail = true;
      if (!fill(b, tasks_[task].w * own)) return time;
    }
    if (!fill(*tasks_[h].M, tasks_[h].D * jobs[h])) return time;
  }
  if (!tail) fill(b, tasks_[task].w * own);
  return time;
}

BoundResult SporadicAnalysis::unblocked() const {
  BoundResult result;
  for (const Task& task : tasks_) {
    if (task.w <= task.T)
      result.tasks.emplace_back(task.w);
    else
      result.tasks.emplace_back(
          Unmet{"w_i <= T_i", {{"w_i", task.w, task.name, true}, {"T_i", task.T, task.name, true}}});
  }
  return result;
}

}  // namespace gangway

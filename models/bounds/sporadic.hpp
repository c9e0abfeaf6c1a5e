// Symbols of the theorems about sporadic tasks that share a GPU block by block.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "models/bounds/bound.hpp"
#include "models/taskset.hpp"

namespace gangway {

// Times are multiples of a unit chosen so that nearly all are whole, which makes exact arithmetic fast: the
// file's time is this one divided by scale(). Work: threads times that unit. M, utilisation: threads.
class SporadicAnalysis {
 public:
  explicit SporadicAnalysis(const SporadicTasks& set);

  struct Task {
    std::string name;
    std::int64_t g = 1, b = 1;
    Rational C, T;
    Rational w;                     // C / (g b): the longest time of a block
    Rational u;                     // C / T
    std::optional<std::int64_t> M;  // M_h: threads busy while a job of it is blocked; none: never blocked
    Rational K;                     // w (M* - b)+; 0 if nothing ever blocks
    Rational D;                     // lemma 1: the longest blocking of one job at the head
    Rational H;                     // theorem T1: from the head of its stream to completion
  };

  const SporadicTasks& set() const { return *set_; }
  const std::vector<Task>& tasks() const { return tasks_; }
  std::size_t size() const { return tasks_.size(); }
  const Rational& scale() const { return scale_; }
  std::int64_t m() const { return set_->layout.total(); }
  const std::optional<std::int64_t>& least_busy() const { return least_busy_; }  // M*; none: nothing blocks
  const Rational& work() const { return work_; }                                 // sum of C
  const Rational& utilisation() const { return utilisation_; }                   // U

  // kappa_i = K_i / M*; 0 if nothing ever blocks.
  Rational tail_loss(const Task& task) const;

  // Theorem T1's closed form, for a capacity no larger than any M_h (M*, m - b_max + 1). Replaces H_i and is
  // never less.
  Rational closed_form(const Task& task, std::int64_t capacity) const {
    return work_ / capacity + task.w * std::max<std::int64_t>(0, capacity - task.b) / capacity;
  }

  // Knap_i(W; N, k): the maximum of sum d_h + theta subject to sum M_h d_h + b_i theta <= W, 0 <= d_h <= N_h
  // D_h and 0 <= theta <= k w_i. One N per task; N and k need not be whole.
  Rational longest_wait(std::size_t task, const Rational& work, const std::vector<Rational>& jobs,
                        const Rational& own) const;

  // Approximate cost factor of arithmetic with these times, compared with short whole numbers.
  std::int64_t step_cost() const { return short_ ? 1 : 16; }

  // For a set in which no task can block: w_i, unless jobs come faster than that.
  BoundResult unblocked() const;

 private:
  void choose_scale();
  void find_capacities();

  const SporadicTasks* set_;
  Rational scale_ = 1;
  bool short_ = true;
  std::vector<Task> tasks_;
  std::optional<std::int64_t> least_busy_;
  std::vector<std::size_t> by_capacity_;  // tasks that can block, by increasing M_h
  Rational work_, utilisation_;
};

}  // namespace gangway

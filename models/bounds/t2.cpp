// T2: the least fixed point over windows of several jobs. Other tasks' jobs count as often as they can be
// released in the window, given the responses assumed for them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/bounds/sporadic.hpp"

namespace gangway {
namespace {

// Tasks looked at, in all windows. The nearer the demand of a period is to the period, the later windows
// close.
constexpr std::int64_t kMostSteps = 8'000'000;

class Windows {
 public:
  explicit Windows(const SporadicAnalysis& set)
      : set_(set), responses_(set.size()), why_(set.size()), jobs_(set.size()) {}

  // F_i depends on the responses of tasks with longer periods only (README, T2). So from the longest period
  // down one evaluation of each F_i gives the least fixed point. An entry that has no bound is infinite: the
  // others count every job of it that V1 lets pass, which is sound.
  BoundResult solve() {
    std::vector<std::size_t> order(set_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return task(a).T > task(b).T; });
    BoundResult result;
    std::string given_up;  // names
    for (const std::size_t i : order) {
      responses_[i] = response(i);
      const bool settled = task(i).H <= task(i).T;  // whatever the others do
      if (!given_up.empty() && !settled) {
        why_[i].stopped = true;
        if (responses_[i]) result.looser[i] = fmt::format("{} counts as unbounded", given_up);
      } else if (!responses_[i] && why_[i].stopped) {
        given_up = task(i).name;
      }
    }
    for (std::size_t i = 0; i < set_.size(); ++i)
      if (responses_[i])
        result.tasks.emplace_back(*responses_[i]);
      else
        result.tasks.emplace_back(why_[i]);
    return result;
  }

 private:
  const SporadicAnalysis::Task& task(std::size_t i) const { return set_.tasks()[i]; }

  // F_i(R); none, and why, when no window closes, or none within the steps.
  std::optional<Rational> response(std::size_t i) {
    if (task(i).H <= task(i).T) return task(i).H;  // the first window closes
    if (const Rational demand = demand_of_a_period(i); demand >= task(i).T) {
      why_[i] = {"a demand of a period below T_i",
                 {{"demand", demand, task(i).name, true}, {"T_i", task(i).T, task(i).name, true}}};
      return std::nullopt;
    }
    Steps steps(kMostSteps / static_cast<std::int64_t>(set_.size()));
    std::optional<Rational> most;
    Rational length;
    for (std::int64_t k = 1;; ++k) {
      if (!grow(i, k, length, steps)) {
        why_[i] = {
            "a window that closes within the steps allowed", {{"reached", length, task(i).name, true}}, true};
        return std::nullopt;
      }
      Rational response = length - task(i).T * (k - 1);
      if (!most || response > *most) most = std::move(response);
      if (length <= task(i).T * k) return most;
    }
  }

  // Some window closes if and only if this is below T_i (README, T2): Knap_i of the work of one own job and
  // min(1, T_i / T_j) of the others'.
  Rational demand_of_a_period(std::size_t i) const {
    std::vector<Rational> jobs(set_.size(), Rational(1));
    Rational work = task(i).C;
    for (std::size_t j = 0; j < set_.size(); ++j) {
      if (j == i) continue;
      if (responses_[j] && task(j).T > task(i).T) jobs[j] = task(i).T / task(j).T;
      work += task(j).C * jobs[j];
    }
    return set_.longest_wait(i, work, jobs, 1);
  }

  // Lengthens `length` to L_{i,k}, the least length that holds the demand of k own jobs; it is at most that
  // before. Whether the steps sufficed.
  bool grow(std::size_t i, std::int64_t k, Rational& length, Steps& steps) {
    const Rational own = k;
    for (;;) {
      Rational work = task(i).C * own;
      for (std::size_t j = 0; j < set_.size(); ++j) {
        jobs_[j] = j == i ? own : released(i, j, length, own);
        if (j != i) work += task(j).C * jobs_[j];
      }
      Rational next = set_.longest_wait(i, work, jobs_, own);
      if (next <= length) return true;
      if (!steps.take(static_cast<std::int64_t>(set_.size()) * set_.step_cost())) return false;
      length = std::move(next);
    }
  }

  // N_j: jobs of j that can matter in a window of task i of this length with k own jobs.
  Rational released(std::size_t i, std::size_t j, const Rational& length, const Rational& k) const {
    if (!responses_[j] || task(j).T <= task(i).T) return k;
    const Rational jobs = Rational::ceil_of(length + *responses_[j], task(j).T);
    return std::min(k, std::max(jobs, Rational(1)));
  }

  const SporadicAnalysis& set_;
  std::vector<std::optional<Rational>> responses_;  // R, of longer periods; none: infinite
  std::vector<Unmet> why_;
  std::vector<Rational> jobs_;  // of grow()
};

BoundResult compute(const SporadicAnalysis& set) { return Windows(set).solve(); }

const BoundRegistration registered{
    "T2", "least fixed point over windows of several jobs", compute, {QueueOrder::became_head}, true};

}  // namespace
}  // namespace gangway

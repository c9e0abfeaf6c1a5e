// T2: the least fixed point over windows of several jobs. Other tasks' jobs count as often as they can be
// released in the window, given the responses assumed for them.
#include <algorithm>

#include "models/bounds/sporadic.hpp"

namespace gangway {
namespace {

// Responses can creep upwards for ever where no vector of them is a fixed point, and windows can close late.
constexpr std::int64_t kMostSteps = 2'500;  // tasks looked at in one evaluation of F_i
constexpr std::int64_t kMostStepsInAll = 25'000;
constexpr int kMostRaises = 50;  // of one response

class Windows {
 public:
  explicit Windows(const SporadicAnalysis& set) : set_(set), steps_(kMostStepsInAll), raises_(set.size()) {
    for (const auto& task : set.tasks()) responses_.emplace_back(task.H);
  }

  // R := F(R) upwards from H until R >= F(R). An entry that has no bound is infinite: the others count every
  // job of it that V1 lets pass, which is sound.
  BoundResult solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < set_.size(); ++i) {
        if (!responses_[i]) continue;
        auto next = response(i);
        if (next && *next <= *responses_[i]) continue;
        if (next && ++raises_[i] > kMostRaises) next = given_up(i, "responses", *next);
        responses_[i] = std::move(next);
        changed = true;
      }
    }
    BoundResult result;
    for (std::size_t i = 0; i < set_.size(); ++i)
      if (responses_[i])
        result.tasks.emplace_back(*responses_[i]);
      else
        result.tasks.emplace_back(why_[i]);
    return result;
  }

 private:
  // F_i(R); none, and why, when no window closes.
  std::optional<Rational> response(std::size_t i) {
    const auto& task = set_.tasks()[i];
    if (task.H <= task.T) return task.H;  // the first window closes
    if (!may_close(i)) return std::nullopt;
    std::optional<Rational> most;
    Rational length;
    Steps steps(kMostSteps);
    for (std::int64_t k = 1;; ++k) {
      if (!grow(i, k, length, steps)) return given_up(i, "windows", length);
      const Rational response = length - task.T * (k - 1);
      if (!most || response > *most) most = response;
      if (length <= task.T * k) return most;
    }
  }

  std::optional<Rational> given_up(std::size_t i, const std::string& what, const Rational& reached) {
    why_[i] = {what + " converge within the steps allowed",
               {{"reached", reached, set_.tasks()[i].name, true}}};
    return std::nullopt;
  }

  // A window of k jobs is at least k times as long as x with x = Knap_i of the work of one own job and
  // min(1, x / T_j) of the others'. That demand is concave in x, so where it exceeds T_i at x = T_i, no
  // window of k jobs is as short as k T_i.
  bool may_close(std::size_t i) {
    const auto& task = set_.tasks()[i];
    Rational work = task.C;
    for (std::size_t j = 0; j < set_.size(); ++j)
      if (j != i) work += share(i, j) * set_.tasks()[j].C;
    const Rational demand = longest_wait(i, work);
    if (demand <= task.T) return true;
    why_[i] = {"the demand of a period is at most T_i",
               {{"demand", demand, task.name, true}, {"T_i", task.T, task.name, true}}};
    return false;
  }

  Rational share(std::size_t i, std::size_t j) const {
    const Rational& T = set_.tasks()[i].T;
    const Rational& other = set_.tasks()[j].T;
    return !responses_[j] || other <= T ? Rational(1) : T / other;
  }

  // As set_.longest_wait() with fractional jobs: all caps are multiplied by their common denominator.
  Rational longest_wait(std::size_t i, const Rational& work) const {
    Rational denominator = 1;
    for (std::size_t j = 0; j < set_.size(); ++j)
      denominator = Rational::common_multiple(denominator, Rational::common_denominator(share(i, j), 1));
    const auto times = denominator.integer();
    if (!times || *times > (std::int64_t{1} << 31)) return 0;  // nothing shown
    std::vector<std::int64_t> jobs(set_.size(), *times);
    for (std::size_t j = 0; j < set_.size(); ++j)
      if (j != i) jobs[j] = *(share(i, j) * denominator).integer();
    return set_.longest_wait(i, work * denominator, jobs, *times) / denominator;
  }

  // Lengthens `length` to L_{i,k}, the least length that holds the demand of k own jobs; it is at most that
  // before.
  bool grow(std::size_t i, std::int64_t k, Rational& length, Steps& steps) {
    std::vector<std::int64_t> jobs(set_.size(), k);
    for (;;) {
      Rational work = set_.tasks()[i].C * k;
      for (std::size_t j = 0; j < set_.size(); ++j) {
        if (j == i) continue;
        jobs[j] = released(j, length, k);
        work += set_.tasks()[j].C * jobs[j];
      }
      const Rational next = set_.longest_wait(i, work, jobs, k);
      if (next <= length) return true;
      const auto cost = static_cast<std::int64_t>(set_.size());
      if (!steps.take(cost) || !steps_.take(cost)) return false;
      length = next;
    }
  }

  // N_j: jobs of j that can matter in a window of this length with k own jobs.
  std::int64_t released(std::size_t j, const Rational& length, std::int64_t k) const {
    if (!responses_[j] || k == 1) return k;
    const auto n = Rational::ceil_of(length + *responses_[j], set_.tasks()[j].T).integer();
    return n ? std::clamp<std::int64_t>(*n, 1, k) : k;
  }

  const SporadicAnalysis& set_;
  Steps steps_;
  std::vector<int> raises_;
  std::vector<std::optional<Rational>> responses_;  // R; none: infinite
  std::vector<Unmet> why_ = std::vector<Unmet>(set_.size());
};

BoundResult compute(const SporadicAnalysis& set) { return Windows(set).solve(); }

const BoundRegistration registered{
    "T2", "least fixed point over windows of several jobs", compute, {QueueOrder::became_head}, true};

}  // namespace
}  // namespace gangway

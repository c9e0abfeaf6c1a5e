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
constexpr std::int64_t kMostStepsOfT2 = 4'000'000;
constexpr std::int64_t kLongestPiece = std::int64_t{1} << 40;  // own jobs

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
    Steps steps(kMostStepsOfT2 / static_cast<std::int64_t>(set_.size()));
    Rational most, length;
    for (std::int64_t k = 1;; ++k) {
      if (!grow(i, k, length, steps)) break;
      most = std::max(most, length - task(i).T * (k - 1));
      if (length <= task(i).T * k || pass_piece(i, k, length, most, steps)) return most;
    }
    why_[i] = {
        "a window that closes within the steps allowed", {{"reached", length, task(i).name, true}}, true};
    return std::nullopt;
  }

  // Windows of more than k jobs, as long as no further job of another task counts but one for each own job:
  // their demand is concave in their number, as is the response, and bisections find what matters. Moves k
  // and `length` to the last such window; true if it closes.
  bool pass_piece(std::size_t i, std::int64_t& k, Rational& length, Rational& most, Steps& steps) {
    const auto& T = task(i).T;
    std::vector<std::optional<Rational>> counts(set_.size());  // none: as many as own jobs
    std::optional<Rational> border;                            // up to this length the counts hold
    Rational last = Rational(k) + kLongestPiece;
    for (std::size_t j = 0; j < set_.size(); ++j) {
      if (j == i || !responses_[j] || task(j).T <= T) continue;
      const Rational count = std::max(Rational(1), Rational::ceil_of(length + *responses_[j], task(j).T));
      if (count > Rational(k)) {
        last = std::min(last, count);
        continue;
      }
      const Rational end = count * task(j).T - *responses_[j];
      border = std::min(border.value_or(end), end);
      counts[j] = count;
    }
    const auto window = [&](std::int64_t own) {
      steps.take(cost());
      return demand(i, own, [&](std::size_t j) { return counts[j].value_or(own); });
    };
    const auto closes = [&](std::int64_t own) { return window(own) <= T * own; };
    // The first of begin + 1, ..., end for which something holds from some on; end if for none before.
    const auto first = [](std::int64_t begin, std::int64_t end, auto holds) {
      while (end - begin > 1) {
        const std::int64_t middle = begin + (end - begin) / 2;
        (holds(middle) ? end : begin) = middle;
      }
      return end;
    };
    const auto beyond = [&](std::int64_t own) { return border && window(own) > *border; };
    const std::int64_t most_own = *last.integer();
    std::int64_t end = k;
    for (std::int64_t stride = 1; end < most_own; stride *= 2) {
      const std::int64_t next = std::min(most_own, k + stride);
      if (beyond(next)) {
        end = first(end, next, beyond) - 1;
        break;
      }
      end = next;
    }
    if (end == k) return false;
    const bool closed = closes(end);
    if (closed) end = first(k, end, closes);
    const std::int64_t peak =
        first(k - 1, end, [&](std::int64_t own) { return window(own + 1) - window(own) <= T; });
    most = std::max(most, window(peak) - T * (peak - 1));
    k = end;
    length = window(end);
    return closed;
  }

  // Some window closes if and only if this is below T_i (README, T2): Knap_i of the work of one own job and
  // min(1, T_i / T_j) of the others'.
  Rational demand_of_a_period(std::size_t i) {
    return demand(i, 1, [&](std::size_t j) {
      return responses_[j] && task(j).T > task(i).T ? task(i).T / task(j).T : Rational(1);
    });
  }

  // Lengthens `length` to L_{i,k}, the least length that holds the demand of k own jobs; it is at most that
  // before. Whether the steps sufficed.
  bool grow(std::size_t i, std::int64_t k, Rational& length, Steps& steps) {
    for (;;) {
      Rational next = demand(i, k, [&](std::size_t j) { return released(i, j, length, k); });
      if (next <= length) return true;
      if (!steps.take(cost())) return false;
      length = std::move(next);
    }
  }

  // Knap_i of k own jobs and so many of each other task.
  template <typename Jobs>
  Rational demand(std::size_t i, const Rational& k, Jobs jobs_of) {
    Rational work = task(i).C * k;
    for (std::size_t j = 0; j < set_.size(); ++j) {
      jobs_[j] = j == i ? k : jobs_of(j);
      if (j != i) work += task(j).C * jobs_[j];
    }
    return set_.longest_wait(i, work, jobs_, k);
  }

  std::int64_t cost() const { return static_cast<std::int64_t>(set_.size()) * set_.step_cost(); }

  // N_j: jobs of j that can matter in a window of task i of this length with k own jobs.
  Rational released(std::size_t i, std::size_t j, const Rational& length, const Rational& k) const {
    if (!responses_[j] || task(j).T <= task(i).T) return k;
    const Rational jobs = Rational::ceil_of(length + *responses_[j], task(j).T);
    return std::min(k, std::max(jobs, Rational(1)));
  }

  const SporadicAnalysis& set_;
  std::vector<std::optional<Rational>> responses_;  // R, of longer periods; none: infinite
  std::vector<Unmet> why_;
  std::vector<Rational> jobs_;  // of demand()
};

BoundResult bound_t2(const SporadicAnalysis& set) { return Windows(set).solve(); }

const BoundRegistration registered_t2{
    "T2", "least fixed point over windows of several jobs", bound_t2, {QueueOrder::became_head}, true};

}  // namespace
}  // namespace gangway

#include "models/bounds/release_order.hpp"

#include <algorithm>
#include <numeric>

namespace gangway {
namespace {

constexpr std::int64_t kMostSteps = 4'096;

}  // namespace

ReleaseOrder::ReleaseOrder(const SporadicAnalysis& set) : set_(set), M_(*set.least_busy()) {
  by_size_.resize(set.size());
  std::iota(by_size_.begin(), by_size_.end(), std::size_t{0});
  std::sort(by_size_.begin(), by_size_.end(),
            [&](std::size_t a, std::size_t b) { return set.tasks()[a].b > set.tasks()[b].b; });
  sets_.emplace();
  Members members(set.size(), false);
  Steps steps(kMostSteps);
  collect(0, *set.least_busy() - 1, members, steps);
}

// Falling sizes: when the last task has been looked at, the smallest one left out decides whether the set can
// grow.
void ReleaseOrder::collect(std::size_t next, std::int64_t room, Members& members, Steps& steps) {
  if (!sets_) return;
  if (!steps.take()) {
    sets_.reset();
    return;
  }
  if (next == by_size_.size()) {
    for (const std::size_t j : by_size_)
      if (!members[j] && set_.tasks()[j].b <= room) return;
    sets_->push_back(members);
    return;
  }
  const std::size_t j = by_size_[next];
  if (set_.tasks()[j].b <= room) {
    members[j] = true;
    collect(next + 1, room - set_.tasks()[j].b, members, steps);
    members[j] = false;
  }
  collect(next + 1, room, members, steps);
}

// The fractional knapsack, which is never less than the best set.
Rational ReleaseOrder::most(const std::vector<Rational>& values) const {
  std::vector<std::size_t> order = by_size_;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] * set_.tasks()[b].b > values[b] * set_.tasks()[a].b;
  });
  Rational sum;
  std::int64_t room = *set_.least_busy() - 1;
  for (const std::size_t j : order) {
    const std::int64_t b = set_.tasks()[j].b;
    sum += values[j] * Rational(std::min(b, room), b);
    room -= std::min(b, room);
  }
  return sum;
}

std::optional<Rational> ReleaseOrder::delay() const {
  const auto quotient = [&](const Rational& losses, const Rational& shares) -> std::optional<Rational> {
    if (shares >= M_) return std::nullopt;
    return (set_.work() + losses) / (M_ - shares);
  };
  if (!sets_) {
    std::vector<Rational> losses, shares;
    for (const auto& task : set_.tasks()) {
      losses.push_back(task.u * set_.tail_loss(task));
      shares.push_back(task.u);
    }
    return quotient(most(losses), most(shares));
  }
  std::optional<Rational> Y;
  for (const Members& members : *sets_) {
    Rational losses, shares;
    for (std::size_t j = 0; j < members.size(); ++j) {
      if (!members[j]) continue;
      losses += set_.tasks()[j].u * set_.tail_loss(set_.tasks()[j]);
      shares += set_.tasks()[j].u;
    }
    const auto one = quotient(losses, shares);
    if (!one) return std::nullopt;
    Y = std::max(Y.value_or(0), *one);
  }
  return Y;
}

void ReleaseOrder::tell(BoundResult& result) const {
  if (sets_) return;
  for (std::size_t i = 0; i < set_.size(); ++i)
    result.looser[i] =
        "Y is bounded by a fractional knapsack, because there are too many sets of pending tasks";
}

std::optional<Unmet> overloaded(const SporadicAnalysis& set) {
  const Rational M = *set.least_busy();
  if (set.utilisation() <= M) return std::nullopt;
  return Unmet{"U <= M*", {{"U", set.utilisation(), ""}, {"M*", M, ""}}};
}

}  // namespace gangway

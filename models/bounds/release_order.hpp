// What T3 and T4 share: jobs are served in release order, and before a busy stretch begins only a few tasks
// are pending, those whose running blocks leave less than M* threads busy.
#pragma once

#include <optional>
#include <vector>

#include "models/bounds/sporadic.hpp"

namespace gangway {

class ReleaseOrder {
 public:
  using Members = std::vector<bool>;  // one per task

  // For sets in which something blocks.
  explicit ReleaseOrder(const SporadicAnalysis& set);

  // The sets S of tasks with sum b_j <= M* - 1 to which no further task can be added; none when there are too
  // many to go through.
  const std::optional<std::vector<Members>>& pending_sets() const { return sets_; }

  // Y = max over S of (sum C + sum_S u_j kappa_j) / (M* - sum_S u_j), or an upper bound of it where there are
  // too many sets; none when a denominator is not above zero.
  std::optional<Rational> delay() const;

  // Says in a result that follows from delay() where that is an upper bound of Y.
  void tell(BoundResult& result) const;

 private:
  void collect(std::size_t next, std::int64_t room, Members& members, Steps& steps);
  Rational most(const std::vector<Rational>& values) const;

  const SporadicAnalysis& set_;
  Rational M_;
  std::vector<std::size_t> by_size_;  // tasks by falling b
  std::optional<std::vector<Members>> sets_;
};

// What both need: U <= M*. The numbers where that fails.
std::optional<Unmet> overloaded(const SporadicAnalysis& set);

}  // namespace gangway

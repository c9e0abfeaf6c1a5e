// Shared by T3 and T4: jobs are served in release order, and few tasks are pending when a busy interval
// begins: those whose running blocks keep fewer than M* threads busy.
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

  // The maximal sets S of tasks with sum b_j <= M* - 1; none if there are too many.
  const std::optional<std::vector<Members>>& pending_sets() const { return sets_; }

  // Y = max over S of (sum C + sum_S u_j kappa_j) / (M* - sum_S u_j), or an upper bound if there are too many
  // sets; none if a denominator is not positive.
  std::optional<Rational> delay() const;

  // Notes in a result that delay() returned an upper bound.
  void tell(BoundResult& result) const;

 private:
  void collect(std::size_t next, std::int64_t room, Members& members, Steps& steps);
  Rational most(const std::vector<Rational>& values) const;

  const SporadicAnalysis& set_;
  Rational M_;
  std::vector<std::size_t> by_size_;  // tasks by decreasing b
  std::optional<std::vector<Members>> sets_;
};

// The condition U <= M* of both; its numbers if violated.
std::optional<Unmet> overloaded(const SporadicAnalysis& set);

}  // namespace gangway

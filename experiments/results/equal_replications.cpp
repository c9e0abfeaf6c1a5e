#include "experiments/results/equal_replications.hpp"

#include <algorithm>

namespace gangway {
namespace {

// But for their numbers, which come first.
bool equal(const Row& a, const Row& b) {
  return std::equal(
      std::next(a.begin()), a.end(), std::next(b.begin()), b.end(),
      [](const auto& one, const auto& other) { return one.second.csv() == other.second.csv(); });
}

}  // namespace

void EqualReplications::add(const GroupRows& cell) {
  const std::vector<Row>& all = cell.replications;
  several_ = several_ || all.size() > 1;
  differ_ =
      differ_ || std::any_of(all.begin(), all.end(), [&](const Row& row) { return !equal(row, all[0]); });
}

std::optional<std::string> EqualReplications::text() const {
  if (!several_ || differ_) return std::nullopt;
  return "warning: all replications are equal, as nothing here is random: one says as much, and intervals of "
         "0 say nothing";
}

}  // namespace gangway

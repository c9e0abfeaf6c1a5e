#include "experiments/sweeps/group_counts.hpp"

#include <numeric>

namespace gangway {

GroupCounts::GroupCounts(const Sweep& sweep, const std::string& path, std::uint64_t unswept)
    : points_(sweep.points()), counts_{unswept} {
  for (std::size_t p = 0; p < sweep.paths().size(); ++p) {
    const SweptPath& swept = sweep.paths()[p];
    if (swept.path() != path) continue;
    stride_ = sweep.stride(p);
    counts_.clear();
    for (std::size_t i = 0; i < swept.size(); ++i) counts_.push_back(swept.value(i).items.size());
  }
}

std::uint64_t GroupCounts::before(std::uint64_t point) const {
  const auto sum = [&](std::size_t values) {
    return std::accumulate(counts_.begin(), counts_.begin() + static_cast<long>(values), std::uint64_t{0});
  };
  const std::uint64_t rounds = point / (stride_ * counts_.size());
  const std::size_t value = value_at(point);
  return stride_ * (rounds * sum(counts_.size()) + sum(value)) + point % stride_ * counts_[value];
}

std::uint64_t GroupCounts::of(const PointSet& points) const {
  std::uint64_t groups = 0;
  for (const auto& [first, last] : points.ranges()) groups += before(std::uint64_t{last} + 1) - before(first);
  return groups;
}

}  // namespace gangway

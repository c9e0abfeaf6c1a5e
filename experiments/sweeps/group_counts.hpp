// How many groups of results (policies, orders) the points of a sweep have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/sweeps/point_set.hpp"
#include "experiments/sweeps/sweep.hpp"

namespace gangway {

// Groups are numbered point by point. A point's number of groups is the same everywhere, or follows from the
// value that one path of the sweep has there, which is a list.
class GroupCounts {
 public:
  GroupCounts() = default;
  // `path`: that may be swept; `unswept`: how many each point has where it is not.
  GroupCounts(const Sweep& sweep, const std::string& path, std::uint64_t unswept);

  std::uint64_t at(std::uint32_t point) const { return counts_[value_at(point)]; }
  // Of the points below `point`, which may be the number of points.
  std::uint64_t before(std::uint64_t point) const;
  std::uint64_t of(const PointSet& points) const;
  std::uint64_t all() const { return before(points_); }

 private:
  std::size_t value_at(std::uint64_t point) const { return point / stride_ % counts_.size(); }

  std::uint64_t points_ = 1;
  std::uint64_t stride_ = 1;              // so many points in a row have the same value
  std::vector<std::uint64_t> counts_{1};  // by value
};

}  // namespace gangway

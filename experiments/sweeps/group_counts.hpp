// Numbers of result groups (policies, orders) of a sweep's points.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/sweeps/point_set.hpp"
#include "experiments/sweeps/sweep.hpp"

namespace gangway {

// Groups are numbered point by point. The number per point is constant, or follows from the value of one
// swept path, which is a list.
class GroupCounts {
 public:
  GroupCounts() = default;
  // `path`: may be swept; `unswept`: number per point if it is not.
  GroupCounts(const Sweep& sweep, const std::string& path, std::uint64_t unswept);

  std::uint64_t at(std::uint32_t point) const { return counts_[value_at(point)]; }
  // Number of groups of points below `point`, which may equal the number of points.
  std::uint64_t before(std::uint64_t point) const;
  std::uint64_t of(const PointSet& points) const;
  std::uint64_t all() const { return before(points_); }

 private:
  std::size_t value_at(std::uint64_t point) const { return point / stride_ % counts_.size(); }

  std::uint64_t points_ = 1;
  std::uint64_t stride_ = 1;              // number of consecutive points with the same value
  std::vector<std::uint64_t> counts_{1};  // by value
};

}  // namespace gangway

// A set of a sweep's points, by number.
#pragma once

#include <boost/icl/interval_set.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gangway {

// Takes memory per range, not per point.
class PointSet {
 public:
  struct Range {
    std::uint32_t first = 0, last = 0;  // both inclusive
    friend bool operator==(const Range&, const Range&) = default;
  };

  static PointSet all(std::uint32_t points);  // from 0

  // "7", "0-9", or several of these separated by commas; ends are inclusive, repetitions count once. Throws
  // InputError, at the option --points, for anything else and for a point not below `points`.
  static PointSet parse(const std::string& text, std::uint32_t points);

  void add(Range range);
  void add(const PointSet& others);

  bool empty() const { return points_.empty(); }
  bool has(std::uint32_t point) const;
  PointSet without(const PointSet& others) const;
  std::vector<Range> ranges() const;  // ascending, with gaps between them

  std::string text() const;  // in the format of parse()
  // The same for people, in one line; at most the first `most` ranges.
  std::string text_of_first(std::size_t most) const;

  friend bool operator==(const PointSet&, const PointSet&) = default;

 private:
  using Interval = boost::icl::right_open_interval<std::uint64_t>;
  boost::icl::interval_set<std::uint64_t, std::less, Interval> points_;
};

}  // namespace gangway

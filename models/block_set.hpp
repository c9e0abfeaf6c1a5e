// Ranges of a kernel's block-tasks, and sets of them.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "models/quantity.hpp"

namespace gangway {

struct BlockRange {
  BlockCount first, last;  // [first, last)
  BlockCount size() const { return last - first; }
  bool empty() const { return last <= first; }
};

// Of any kernel.
inline constexpr BlockRange kAllBlocks{{0}, {std::numeric_limits<std::int64_t>::max()}};

constexpr BlockRange common(BlockRange a, BlockRange b) {
  const BlockCount first = std::max(a.first, b.first);
  return {first, std::max(first, std::min(a.last, b.last))};
}

// Few ranges, as when GPUs take turns at parts of a grid.
class BlockSet {
 public:
  BlockSet() = default;
  explicit BlockSet(BlockRange range) { add(range); }

  void clear() { ranges_.clear(); }
  bool empty() const { return ranges_.empty(); }

  void add(BlockRange range) {
    if (range.empty()) return;
    // Merge with ranges that touch or overlap.
    const auto from = std::find_if(ranges_.begin(), ranges_.end(),
                                   [&](const BlockRange& r) { return r.last >= range.first; });
    const auto to =
        std::find_if(from, ranges_.end(), [&](const BlockRange& r) { return r.first > range.last; });
    if (from != to) {
      range.first = std::min(range.first, from->first);
      range.last = std::max(range.last, std::prev(to)->last);
    }
    ranges_.insert(ranges_.erase(from, to), range);
  }

  void remove(BlockRange range) {
    if (range.empty()) return;
    std::vector<BlockRange> rest;
    for (const BlockRange& r : ranges_) {
      const BlockRange before{r.first, std::min(r.last, range.first)};
      const BlockRange after{std::max(r.first, range.last), r.last};
      if (!before.empty()) rest.push_back(before);
      if (!after.empty()) rest.push_back(after);
    }
    ranges_ = std::move(rest);
  }

  BlockCount size() const { return size_within(kAllBlocks); }
  BlockCount size_within(BlockRange range) const {
    BlockCount sum;
    for (const BlockRange& r : ranges_) sum += common(r, range).size();
    return sum;
  }
  bool contains(BlockRange range) const { return size_within(range).count == range.size().count; }
  bool meets(BlockRange range) const { return size_within(range).count > 0; }

  const std::vector<BlockRange>& ranges() const { return ranges_; }

 private:
  std::vector<BlockRange> ranges_;  // sorted; none touches another
};

}  // namespace gangway

// Which blocks a GPU takes, and which bytes of its outputs they write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/kernels/cuda_problem.hpp"

namespace gangway {

// The part of GPU `gpu` of `gpus`: consecutive, differing by one block-task at most, together the range.
inline BlockRange part_of(BlockRange range, std::uint32_t gpu, std::uint32_t gpus) {
  const std::int64_t first = range.first.count, count = range.last.count - first;
  return {{first + count * gpu / gpus}, {first + count * (gpu + 1) / gpus}};
}

// An output of elements, of which block-task i writes those from i * each on.
struct PiecewiseOutput {
  std::uint64_t elements = 0, element_bytes = 0;
};
inline std::optional<std::vector<WrittenBytes>> pieces_written(const std::vector<PiecewiseOutput>& outputs,
                                                               std::int64_t each, BlockRange blocks) {
  std::vector<WrittenBytes> written;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const auto bytes_before = [&](BlockCount count) {
      return std::min(static_cast<std::uint64_t>(count.count * each), outputs[o].elements) *
             outputs[o].element_bytes;
    };
    written.push_back({o, bytes_before(blocks.first), bytes_before(blocks.last)});
  }
  return written;
}

}  // namespace gangway

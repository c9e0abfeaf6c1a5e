// Sizes of kernel slices that run as grids of their own.
#pragma once

#include <algorithm>

#include "models/policy.hpp"

namespace gangway {

// Whole waves of blocks, at least one, because part of a wave takes as long as a whole one.
inline BlockCount whole_waves(const KernelFacts& kernel, std::int64_t waves) {
  return {std::max<std::int64_t>(1, kernel.resident.count) * std::max<std::int64_t>(waves, 1)};
}

// Waves needed by this many block-tasks; the last may be partial.
inline std::int64_t waves_of(const KernelFacts& kernel, BlockCount block_tasks) {
  const std::int64_t wave = std::max<std::int64_t>(1, kernel.resident.count);
  return (block_tasks.count + wave - 1) / wave;
}

// Whole waves that take `length` by the kernel's declared time, at most all. One if the time is unknown.
inline BlockCount waves_within(const KernelFacts& kernel, Duration length) {
  if (!kernel.declared) return whole_waves(kernel, 1);
  const std::int64_t all = waves_of(kernel, kernel.block_tasks);
  const std::int64_t in_time = mul_div_floor(length.ns, all, std::max<std::int64_t>(1, kernel.declared->ns));
  return whole_waves(kernel, std::min(in_time, all));
}

}  // namespace gangway

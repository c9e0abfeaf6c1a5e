// How large slices of kernels are that run as grids of their own.
#pragma once

#include <algorithm>

#include "models/policy.hpp"

namespace gangway {

// So many whole waves of blocks, at least one, as a part of one takes as long as all of it.
inline BlockCount whole_waves(const KernelFacts& kernel, std::int64_t waves) {
  return {std::max<std::int64_t>(1, kernel.resident.count) * std::max<std::int64_t>(waves, 1)};
}

// Waves that so many of its block-tasks take, the last of which may be in part.
inline std::int64_t waves_of(const KernelFacts& kernel, BlockCount block_tasks) {
  const std::int64_t wave = std::max<std::int64_t>(1, kernel.resident.count);
  return (block_tasks.count + wave - 1) / wave;
}

// As many whole waves as take `length`, by the kernel's declared time; no more than hold all of it. One where
// nobody knows how long it takes.
inline BlockCount waves_within(const KernelFacts& kernel, Duration length) {
  if (!kernel.declared) return whole_waves(kernel, 1);
  const std::int64_t all = waves_of(kernel, kernel.block_tasks);
  const std::int64_t in_time = mul_div_floor(length.ns, all, std::max<std::int64_t>(1, kernel.declared->ns));
  return whole_waves(kernel, std::min(in_time, all));
}

}  // namespace gangway

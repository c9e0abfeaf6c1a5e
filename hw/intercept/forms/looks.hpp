// How often blocks of a launch look at the host's order to leave (hw/transform/rewrite.hpp).
#pragma once

#include <algorithm>
#include <cstdint>

namespace gangway::intercept {

inline constexpr std::uint32_t kNobodyLooks = UINT32_MAX;

// HiddenParameters::looks for a grid of so many blocks, each of which adds `ns_a_block` to the kernel's time
// (0: not known). `resident`: blocks that the GPU holds at once; 0: not known. One of 2^n consecutive blocks
// looks, which gives 2^n - 1.
//
// Looks come one at a time, some 1 us each, and a block that looks waits for those ahead of it. So they are
// 2 us apart, and at most eight in a wave, since blocks of one length begin together. Measured on an H200
// with blocks of 1 to 30 us: at this rate they cost 0.2 % at most. A kernel below 0.5 ms ends soon anyway,
// and looks at its end cost it 0.6 %.
inline std::uint32_t looks(double ns_a_block, std::uint32_t blocks, std::uint32_t resident) {
  constexpr double kFromLookToLook = 2'000, kLongEnough = 500'000;  // ns
  constexpr double kLooksInAWave = 8;
  if (ns_a_block * blocks < kLongEnough) return kNobodyLooks;
  const double between = std::max(kFromLookToLook / ns_a_block, resident / kLooksInAWave);
  std::uint32_t one_of = 1;
  while (one_of * 1.4 < between && one_of < 1u << 31) one_of *= 2;  // the nearest
  return one_of - 1;
}

}  // namespace gangway::intercept

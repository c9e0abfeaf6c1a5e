// Release patterns for jobs of sporadic tasks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/quantity.hpp"
#include "models/random.hpp"

namespace gangway {

// The first release and later gaps, at least the period; in ticks.
struct ReleasePattern {
  const char* name;
  bool shorter;  // blocks, or times as owner
  std::int64_t (*first)(std::int64_t period, Stream& random);
  std::int64_t (*gap)(std::int64_t period, Stream& random);
};

// Synchronous, with random offsets, sporadic, in bursts, nearly periodic; with full and shorter times.
const std::array<ReleasePattern, 9>& release_patterns();

// No gap is longer, in periods: Stream::exponential() stays below 37.
inline constexpr std::int64_t kLongestGap = 200;

// The releases before the horizon.
std::vector<Duration> releases_of(const ReleasePattern& pattern, std::int64_t period, std::int64_t horizon,
                                  Stream random);

// Rounded down.
std::int64_t share_of(std::int64_t ticks, double share);

void shuffle(std::vector<std::uint32_t>& order, Stream& random);

}  // namespace gangway

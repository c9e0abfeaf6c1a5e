// Inputs computed alike on host and device: a hash of the seed and the element's number. Gigabytes need no
// transfer, and any element can be checked alone.
#pragma once

#include <cstdint>

#include "hw/protocol.hpp"

namespace gangway {

// Bijective mixing of 32 bits (C. Wellons, "lowbias32").
GANGWAY_ANYWHERE constexpr std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// A stream of inputs: those of one array of one problem.
class Inputs {
 public:
  Inputs(std::uint64_t seed, std::uint32_t array)
      : key_(mixed(static_cast<std::uint32_t>(seed) +
                   mixed(static_cast<std::uint32_t>(seed >> 32) + array))) {}

  GANGWAY_ANYWHERE constexpr std::uint32_t bits(std::uint64_t i) const {
    return mixed(static_cast<std::uint32_t>(i) ^ mixed(key_ + static_cast<std::uint32_t>(i >> 32)));
  }
  // In [0.5, 1.5); identical everywhere, because only the last step rounds, once.
  GANGWAY_ANYWHERE constexpr float real(std::uint64_t i) const {
    return static_cast<float>(bits(i) >> 8) * 0x1p-24f + 0.5f;
  }

 private:
  std::uint32_t key_;
};

}  // namespace gangway

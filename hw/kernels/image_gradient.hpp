// A pixel of Canny's gradient, passed from one kernel to the next.
#pragma once

#include <cstdint>

namespace gangway {

inline constexpr int kMostMagnitude = 1442;  // of Sobel's gradient of grey values: 1020 in both directions

// Multiples of 45 degrees, x to the right, y down; opposite directions are equal.
struct Gradient {
  std::uint16_t magnitude;
  std::uint16_t direction;  // 0: along x, 1: along x and y, 2: along y, 3: against x and along y
};

}  // namespace gangway

// Shared by the two kernels of separable convolution: the filter and its reference.
#pragma once

#include <cmath>
#include <string>

#include "hw/kernels/inputs.hpp"
#include "hw/kernels/outputs.hpp"

namespace gangway {

inline constexpr int kFilterRadius = 8, kFilterTaps = 2 * kFilterRadius + 1;  // as in the CUDA SDK's example

// Sums to 1. All weights differ, so that a wrong tap is detected.
GANGWAY_ANYWHERE constexpr float filter_weight(int tap) {
  return static_cast<float>(1 + 7 * tap % kFilterTaps) / 153;
}

class FilterSource {
 public:
  explicit FilterSource(std::uint64_t seed) : inputs_(seed, 0) {}
  GANGWAY_ANYWHERE float operator[](std::uint64_t i) const { return inputs_.real(i); }

 private:
  Inputs inputs_;
};

// The image is 0 outside. The relative rounding error of a sum of 17 positive float products, in any order,
// is below 17 * 2^-23.
template <int kAlongX, int kAlongY>
class FilterReference {
 public:
  FilterReference(const FilterSource& source, int width, int height)
      : source_(source), width_(width), height_(height) {}

  std::string operator()(int x, int y, float is) const {
    double right = 0;
    for (int away = -kFilterRadius; away <= kFilterRadius; ++away) {
      const std::int64_t column = x + kAlongX * away, row = y + kAlongY * away;
      if (column < 0 || column >= width_ || row < 0 || row >= height_) continue;
      right += static_cast<double>(filter_weight(away + kFilterRadius)) *
               static_cast<double>(source_[static_cast<std::uint64_t>(row * width_ + column)]);
    }
    if (std::abs(static_cast<double>(is) - right) <= right * kFilterTaps * 0x1p-23) return {};
    return unequal(static_cast<double>(is), right);
  }

 private:
  FilterSource source_;
  std::int64_t width_, height_;
};

}  // namespace gangway

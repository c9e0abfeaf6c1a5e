// Rounding of reals.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>

#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {

enum class Rounding : std::uint8_t { nearest, zero, down, up, nearest_away };

// The modifiers .rn, .rz, .rm, .rp and .rna; nearest if there is none.
Rounding take_rounding(Decoding& d, bool* found = nullptr);

// The host rounds so within this one's life.
class HostRounding {
 public:
  explicit HostRounding(Rounding rounding) : changed_(rounding != Rounding::nearest) {
    if (!changed_) return;
    std::fesetround(rounding == Rounding::zero   ? FE_TOWARDZERO
                    : rounding == Rounding::down ? FE_DOWNWARD
                                                 : FE_UPWARD);
  }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;
  ~HostRounding() {
    if (changed_) std::fesetround(FE_TONEAREST);
  }

 private:
  bool changed_;
};

// A format of `precision` bits, the leading one included, whose least normal exponent is `least` and whose
// greatest is `most`. Subnormal results are right; those too large become infinite, or the greatest number
// where that is how it is rounded.
struct Format {
  int precision, least, most;
};
inline constexpr Format kHalf{11, -14, 15}, kBrain{8, -126, 127}, kTensor{11, -126, 127};
double rounded(double value, const Format& format, Rounding rounding);

// Of 16 bits: f16, or bf16 where `brain`.
double from_half(std::uint16_t bits, bool brain);
std::uint16_t to_half(double value, bool brain, Rounding rounding);

}  // namespace gangway::testing::ptx

#include <bit>
#include <limits>

#include "tests/ptx/interpreter/real.hpp"

namespace gangway::testing::ptx {

Rounding take_rounding(Decoding& d, bool* found) {
  bool dummy = false;
  bool& any = found != nullptr ? *found : dummy;
  any = true;
  if (d.take("rn")) return Rounding::nearest;
  if (d.take("rz")) return Rounding::zero;
  if (d.take("rm")) return Rounding::down;
  if (d.take("rp")) return Rounding::up;
  if (d.take("rna")) return Rounding::nearest_away;
  any = false;
  return Rounding::nearest;
}

double rounded(double value, const Format& format, Rounding rounding) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  (void)std::frexp(value, &exponent);  // value = f * 2^exponent, 0.5 <= |f| < 1
  const int unit = std::max(exponent - 1, format.least) - (format.precision - 1);
  const double scaled = std::ldexp(value, -unit);
  double whole = 0;
  switch (rounding) {
    case Rounding::nearest:
      whole = std::nearbyint(scaled);
      break;
    case Rounding::zero:
      whole = std::trunc(scaled);
      break;
    case Rounding::down:
      whole = std::floor(scaled);
      break;
    case Rounding::up:
      whole = std::ceil(scaled);
      break;
    case Rounding::nearest_away:
      whole = std::round(scaled);
      break;
  }
  const double result = std::copysign(std::ldexp(whole, unit), value);
  const double greatest = std::ldexp(2 - std::ldexp(1.0, 1 - format.precision), format.most);
  if (std::fabs(result) <= greatest) return result;
  const bool keeps = rounding == Rounding::zero || (rounding == Rounding::down && value > 0) ||
                     (rounding == Rounding::up && value < 0);
  return std::copysign(keeps ? greatest : std::numeric_limits<double>::infinity(), value);
}

double from_half(std::uint16_t bits, bool brain) {
  if (brain) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = 0;
  if (exponent == 31)
    value =
        fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

std::uint16_t to_half(double value, bool brain, Rounding rounding) {
  if (std::isnan(value)) return 0x7FFF;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double near = std::fabs(rounded(value, brain ? kBrain : kHalf, rounding));
  if (brain)
    return static_cast<std::uint16_t>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(near)) >> 16);
  if (std::isinf(near)) return static_cast<std::uint16_t>(sign | 0x7C00);
  if (near < std::ldexp(1.0, -14))
    return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(near, 24)));
  int exponent = 0;
  const double fraction = std::frexp(near, &exponent);  // 0.5 <= fraction < 1
  const int bits = static_cast<int>(std::ldexp(fraction, 11)) - 1024;
  return static_cast<std::uint16_t>(sign | (exponent + 14) << 10 | bits);
}

}  // namespace gangway::testing::ptx

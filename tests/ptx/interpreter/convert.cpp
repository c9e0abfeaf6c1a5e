// Conversions between types, and between address spaces.
#include <algorithm>
#include <limits>

#include "tests/ptx/interpreter/real.hpp"

namespace gangway::testing::ptx {
namespace {

enum : std::uint8_t { kFlush = 1, kSaturate = 2, kWhole = 4, kRelu = 8 };

struct Conversion {
  Type to, from;
};

// count: index into this
Conversion kinds_of(const Instruction& i) {
  constexpr char kKinds[] = {'u', 's', 'f', 'h', 't', 'b'};
  const auto one = [&](std::uint64_t code) {
    return Type{kKinds[code & 7], static_cast<std::uint32_t>(code >> 3), false};
  };
  return {one(i.o[5].value & 0xFFFF), one(i.o[5].value >> 16)};
}
std::uint64_t code_of(Type type) {
  const std::string_view kinds = "usfhtb";
  return std::uint64_t{type.bits} << 3 | kinds.find(type.kind);
}

double real_of(std::uint64_t bits, Type type) {
  if (type.bits == 16) return from_half(static_cast<std::uint16_t>(bits), type.kind == 'h');
  if (type.bits == 32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return std::bit_cast<double>(bits);
}

double whole(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::zero:
      return std::trunc(value);
    case Rounding::down:
      return std::floor(value);
    case Rounding::up:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

std::uint64_t real_to_integer(double value, Type to, Rounding rounding) {
  if (std::isnan(value)) return to.bits == 64 ? std::uint64_t{1} << 63 : 0;
  const double near = whole(value, rounding);
  if (to.is_signed()) {
    const double limit = std::ldexp(1.0, static_cast<int>(to.bits) - 1);
    if (near >= limit) return mask_of(to.bits - 1);
    if (near < -limit) return ~mask_of(to.bits - 1);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(near));
  }
  if (near <= 0) return 0;
  if (near >= std::ldexp(1.0, static_cast<int>(to.bits))) return mask_of(to.bits);
  return static_cast<std::uint64_t>(near);
}

std::uint64_t single_bits(float value) {
  return std::bit_cast<std::uint32_t>(value == value ? value : std::bit_cast<float>(0x7fffffffu));
}

std::uint64_t real_to_real(double value, const Conversion& kinds, const Instruction& i) {
  const auto rounding = static_cast<Rounding>(i.mode);
  if ((i.extra & kWhole) != 0) value = whole(value, rounding);
  if ((i.extra & kSaturate) != 0) value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
  if ((i.extra & kRelu) != 0 && value < 0) value = 0;
  const Type to = kinds.to;
  if (to.bits == 64) return std::bit_cast<std::uint64_t>(value);
  if (to.bits == 16) return to_half(value, to.kind == 'h', rounding);
  if (to.kind == 't') return single_bits(static_cast<float>(rounded(value, kTensor, rounding)));
  const HostRounding host(rounding == Rounding::nearest_away ? Rounding::nearest : rounding);
  const volatile double exact = value;
  float near = static_cast<float>(exact);
  if ((i.extra & kFlush) != 0 && std::fabs(near) < std::numeric_limits<float>::min())
    near = std::copysign(0.0f, near);
  return single_bits(near);
}

// The integer is rounded once, even where it has more bits than a double.
std::uint64_t integer_to_real(std::uint64_t bits, const Conversion& kinds, const Instruction& i) {
  const auto rounding = static_cast<Rounding>(i.mode);
  if (kinds.to.bits == 16) {
    const double value = kinds.from.is_signed() ? static_cast<double>(static_cast<std::int64_t>(bits))
                                                : static_cast<double>(bits);
    return to_half(value, kinds.to.kind == 'h', rounding);
  }
  const HostRounding host(rounding);
  const volatile std::uint64_t exact = bits;
  if (kinds.to.bits == 32) {
    volatile float value = 0;
    if (kinds.from.is_signed())
      value = static_cast<float>(static_cast<std::int64_t>(exact));
    else
      value = static_cast<float>(exact);
    return single_bits((i.extra & kSaturate) != 0 ? std::clamp(static_cast<float>(value), 0.0f, 1.0f)
                                                  : value);
  }
  volatile double value = 0;
  if (kinds.from.is_signed())
    value = static_cast<double>(static_cast<std::int64_t>(exact));
  else
    value = static_cast<double>(exact);
  return std::bit_cast<std::uint64_t>(static_cast<double>(value));
}

std::uint64_t extended(std::uint64_t bits, Type type) {
  bits &= mask_of(type.bits);
  if (type.is_signed() && type.bits < 64 && ((bits >> (type.bits - 1)) & 1) != 0) bits |= ~mask_of(type.bits);
  return bits;
}

std::uint64_t integer_to_integer(std::uint64_t bits, const Conversion& kinds, bool saturate) {
  if (saturate) {
    const Type to = kinds.to;
    if (kinds.from.is_signed()) {
      auto value = static_cast<std::int64_t>(bits);
      if (to.is_signed()) {
        value = std::clamp(value, static_cast<std::int64_t>(~mask_of(to.bits - 1)),
                           static_cast<std::int64_t>(mask_of(to.bits - 1)));
      } else if (value < 0) {
        value = 0;
      } else if (static_cast<std::uint64_t>(value) > mask_of(to.bits)) {
        value = static_cast<std::int64_t>(mask_of(to.bits));
      }
      bits = static_cast<std::uint64_t>(value);
    } else {
      bits = std::min(bits, to.is_signed() ? mask_of(to.bits - 1) : mask_of(to.bits));
    }
  }
  return extended(bits, kinds.to);  // a wider register has the sign or zeros above
}

std::uint64_t converted(std::uint64_t bits, const Conversion& kinds, const Instruction& i) {
  const auto rounding = static_cast<Rounding>(i.mode);
  if (!kinds.from.real()) {
    bits = extended(bits, kinds.from);
    return kinds.to.real() ? integer_to_real(bits, kinds, i)
                           : integer_to_integer(bits, kinds, (i.extra & kSaturate) != 0);
  }
  double value = real_of(bits, kinds.from);
  if ((i.extra & kFlush) != 0 && kinds.from.bits == 32 &&
      std::fabs(value) < std::numeric_limits<float>::min())
    value = std::copysign(0.0, value);
  return kinds.to.real() ? real_to_real(value, kinds, i) : real_to_integer(value, kinds.to, rounding);
}

Step convert(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], converted(read(m, t, i.o[1]), kinds_of(i), i));
  return Step::next;
}
// Two floats into one pair: the first is its high half.
Step convert_pair(Machine& m, Thread& t, const Instruction& i) {
  const Conversion kinds = kinds_of(i);
  write(t, i.o[0], converted(read(m, t, i.o[1]), kinds, i) << 16 | converted(read(m, t, i.o[2]), kinds, i));
  return Step::next;
}

void decode_conversion(Decoding& d) {
  bool whole_number = true;
  Rounding rounding = Rounding::zero;
  if (d.take("rni"))
    rounding = Rounding::nearest;
  else if (d.take("rzi"))
    rounding = Rounding::zero;
  else if (d.take("rmi"))
    rounding = Rounding::down;
  else if (d.take("rpi"))
    rounding = Rounding::up;
  else {
    whole_number = false;
    rounding = take_rounding(d);
  }
  (void)d.take("satfinite");
  d.made.mode = static_cast<std::uint8_t>(rounding);
  d.made.extra = static_cast<std::uint8_t>((d.take("ftz") ? kFlush : 0) | (d.take("sat") ? kSaturate : 0) |
                                           (whole_number ? kWhole : 0) | (d.take("relu") ? kRelu : 0));
  const Type to = d.take_type(), from = d.take_type();
  const auto known = [](Type type) {
    return type.kind != 'p' && type.bits <= 64 && (type.kind != 'f' || type.bits >= 16);
  };
  if (!known(to) || !known(from) || from.pair) throw Unknown{"type"};
  const auto at = [&](std::size_t k, Type type) {
    return d.operand(k, {type.pair ? 'b' : type.kind, type.pair ? 32 : type.bits, false});
  };
  d.need(to.pair ? 3 : 2);
  d.made.o[0] = at(0, to);
  d.made.o[1] = at(1, from);
  if (to.pair) d.made.o[2] = at(2, from);
  d.made.o[5].value = code_of(to) | code_of(from) << 16;
  d.made.run = to.pair ? &convert_pair : &convert;
  d.finish();
}

// mode: 1 from generic
Step convert_address(Machine& m, Thread& t, const Instruction& i) {
  std::uint64_t window = 0;
  if (i.space == Space::shared) window = kSharedWindow;
  if (i.space == Space::local) window = kLocalWindow;
  if (i.space == Space::param) window = kParamWindow;
  const std::uint64_t a = read(m, t, i.o[1]);
  write(t, i.o[0], i.mode != 0 ? a - window : a + window);
  return Step::next;
}
Step in_space(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t window = read(m, t, i.o[1]) & kWindowMask;
  bool holds = false;
  switch (i.space) {
    case Space::shared:
      holds = window == kSharedWindow;
      break;
    case Space::local:
      holds = window == kLocalWindow;
      break;
    case Space::param:
      holds = window == kParamWindow;
      break;
    default:
      holds = window == 0 || window == kCodeWindow;
      break;
  }
  write(t, i.o[0], holds ? 1 : 0);
  return Step::next;
}

Space take_space(Decoding& d) {
  if (d.take("global")) return Space::global;
  if (d.take("shared") || d.take("shared::cta")) return Space::shared;
  if (d.take("local")) return Space::local;
  if (d.take("const")) return Space::constant;
  if (d.take("param") || d.take("param::entry")) return Space::param;
  throw Unknown{"space"};
}

}  // namespace

void add_convert(Decoders& all) {
  all["cvt"] = decode_conversion;
  all["cvta"] = [](Decoding& d) {
    d.made.mode = d.take("to") ? 1 : 0;
    d.made.space = take_space(d);
    const Type type = d.take_type();
    if (type.bits != 64) throw Unknown{"type"};
    d.need(2);
    d.all(type);
    d.made.run = &convert_address;
    d.finish();
  };
  all["isspacep"] = [](Decoding& d) {
    d.made.space = take_space(d);
    if (d.made.space == Space::constant) throw Unknown{"'.const': constants lie in global memory here"};
    d.need(2);
    d.made.o[0] = d.predicate(0);
    d.made.o[1] = d.operand(1, {'b', 64, false});
    d.made.run = &in_space;
    d.finish();
  };
}

}  // namespace gangway::testing::ptx

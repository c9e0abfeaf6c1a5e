// Arithmetic of f32 and f64, and which of the three kinds of arithmetic an opcode means.
#include "tests/ptx/interpreter/real.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace gangway::testing::ptx {

void decode_integer_add(Decoding& d);
void decode_integer_sub(Decoding& d);
void decode_integer_mul(Decoding& d);
void decode_integer_mad(Decoding& d);
void decode_integer_div(Decoding& d);
void decode_integer_min(Decoding& d);
void decode_integer_max(Decoding& d);
void decode_integer_neg(Decoding& d);
void decode_integer_abs(Decoding& d);
void decode_half(Decoding& d);

namespace {

enum : std::uint8_t { kFlush = 1, kSaturate = 2, kNan = 4, kAbsolute = 8, kXorSign = 16 };

template <class T>
T flushed(T value, const Instruction& i) {
  if ((i.extra & kFlush) != 0 && std::fabs(value) < std::numeric_limits<T>::min())
    return std::copysign(T{0}, value);
  return value;
}
template <class T>
T source(const Machine& m, const Thread& t, const Instruction& i, int at) {
  return flushed(in<T>(m, t, i.o[at]), i);
}
template <class T>
void result(Thread& t, const Instruction& i, T value) {
  value = flushed(value, i);
  if ((i.extra & kSaturate) != 0) value = value != value ? T{0} : std::clamp(value, T{0}, T{1});
  out<T>(t, i.o[0], value);
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    const volatile T x = a, y = b;  // or the compiler would round before the host does
    return x + y;
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    const volatile T x = a, y = b;  // or the compiler would round before the host does
    return x - y;
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    const volatile T x = a, y = b;  // or the compiler would round before the host does
    return x * y;
  }
};
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    const volatile T x = a, y = b;  // or the compiler would round before the host does
    return x / y;
  }
};

template <class T, class Op>
Step binary(Machine& m, Thread& t, const Instruction& i) {
  volatile T value = 0;
  {
    const HostRounding rounding(static_cast<Rounding>(i.mode));
    value = Op{}(source<T>(m, t, i, 1), source<T>(m, t, i, 2));
  }
  result<T>(t, i, value);
  return Step::next;
}
template <class T>
Step fused(Machine& m, Thread& t, const Instruction& i) {
  volatile T value = 0;
  {
    const HostRounding rounding(static_cast<Rounding>(i.mode));
    const volatile T a = source<T>(m, t, i, 1), b = source<T>(m, t, i, 2), c = source<T>(m, t, i, 3);
    value = std::fma(a, b, c);
  }
  result<T>(t, i, value);
  return Step::next;
}

struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    const volatile T x = a;
    return T{1} / x;
  }
};
struct Root {
  template <class T>
  T operator()(T a) const {
    const volatile T x = a;
    return std::sqrt(x);
  }
};
struct ReciprocalRoot {
  template <class T>
  T operator()(T a) const {
    return T{1} / std::sqrt(a);
  }
};
struct Sine {
  template <class T>
  T operator()(T a) const {
    return std::sin(a);
  }
};
struct Cosine {
  template <class T>
  T operator()(T a) const {
    return std::cos(a);
  }
};
struct Logarithm {
  template <class T>
  T operator()(T a) const {
    return std::log2(a);
  }
};
struct Power {
  template <class T>
  T operator()(T a) const {
    return std::exp2(a);
  }
};
struct Tangent {
  template <class T>
  T operator()(T a) const {
    return std::tanh(a);
  }
};

template <class T, class Op>
Step unary(Machine& m, Thread& t, const Instruction& i) {
  volatile T value = 0;
  {
    const HostRounding rounding(static_cast<Rounding>(i.mode));
    value = Op{}(source<T>(m, t, i, 1));
  }
  result<T>(t, i, value);
  return Step::next;
}

// These change the sign bit only, of NaN too.
template <class T, bool absolute>
Step sign(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t top = std::uint64_t{1} << (8 * sizeof(T) - 1);
  std::uint64_t bits = read(m, t, i.o[1]) & mask_of(8 * sizeof(T));
  if constexpr (sizeof(T) == 4)
    bits = std::bit_cast<std::uint32_t>(flushed(std::bit_cast<float>(static_cast<std::uint32_t>(bits)), i));
  write(t, i.o[0], absolute ? bits & ~top : bits ^ top);
  return Step::next;
}
template <class T>
Step copy_sign(Machine& m, Thread& t, const Instruction& i) {
  out<T>(t, i.o[0], std::copysign(in<T>(m, t, i.o[2]), in<T>(m, t, i.o[1])));
  return Step::next;
}

template <class T, bool least>
Step extreme(Machine& m, Thread& t, const Instruction& i) {
  const int count = i.o[3].kind == Operand::Kind::sink ? 2 : 3;
  T value = source<T>(m, t, i, 1);
  bool nan = value != value, negative = std::signbit(value);
  if ((i.extra & (kAbsolute | kXorSign)) != 0) value = std::fabs(value);
  for (int at = 2; at <= count; ++at) {
    T other = source<T>(m, t, i, at);
    nan = nan || other != other;
    negative = negative != std::signbit(other);
    if ((i.extra & (kAbsolute | kXorSign)) != 0) other = std::fabs(other);
    if (value != value ||
        (other == other && (least ? other < value || (other == value && std::signbit(other))
                                  : other > value || (other == value && !std::signbit(other)))))
      value = other;
  }
  if (nan && (i.extra & kNan) != 0) value = std::numeric_limits<T>::quiet_NaN();
  if ((i.extra & kXorSign) != 0) value = negative ? -value : value;
  result<T>(t, i, value);
  return Step::next;
}

enum : std::uint8_t { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };
template <class T>
Step test(Machine& m, Thread& t, const Instruction& i) {
  const T a = in<T>(m, t, i.o[1]);
  bool holds = false;
  switch (i.mode) {
    case kFinite:
      holds = std::isfinite(a);
      break;
    case kInfinite:
      holds = std::isinf(a);
      break;
    case kNumber:
      holds = !std::isnan(a);
      break;
    case kNotANumber:
      holds = std::isnan(a);
      break;
    case kNormal:
      holds = std::isnormal(a);
      break;
    default:
      holds = std::fpclassify(a) == FP_SUBNORMAL;
      break;
  }
  write(t, i.o[0], holds ? 1 : 0);
  return Step::next;
}

Type type_of(const Decoding& d) {
  for (std::size_t i = 1; i < d.statement.opcode.size(); ++i)
    if (const Type type = type_named(d.statement.opcode[i]); type.kind != 0) return type;
  throw Unknown{"no type"};
}

// Integer, half or full arithmetic, after the type.
bool passed_on(Decoding& d, Decoder integer) {
  const Type type = type_of(d);
  if (type.kind == 'h' || (type.kind == 'f' && type.bits == 16)) {
    decode_half(d);
    return true;
  }
  if (!type.real()) {
    if (integer == nullptr) throw Unknown{"type"};
    integer(d);
    return true;
  }
  return false;
}

Type prepared(Decoding& d, std::size_t operands) {
  d.made.mode = static_cast<std::uint8_t>(take_rounding(d));
  (void)(d.take("approx") || d.take("full"));
  d.made.extra = static_cast<std::uint8_t>((d.take("ftz") ? kFlush : 0) | (d.take("sat") ? kSaturate : 0));
  const Type type = d.take_type();
  if (type.kind != 'f') throw Unknown{"type"};
  d.need(operands);
  d.all(type);
  d.finish();
  return type;
}

template <class Op, Decoder integer>
void decode_binary(Decoding& d) {
  if (passed_on(d, integer)) return;
  d.made.run = prepared(d, 3).bits == 32 ? &binary<float, Op> : &binary<double, Op>;
}
template <Decoder integer>
void decode_fused(Decoding& d) {
  if (passed_on(d, integer)) return;
  d.made.run = prepared(d, 4).bits == 32 ? &fused<float> : &fused<double>;
}
template <class Op>
void decode_unary(Decoding& d) {
  if (passed_on(d, nullptr)) return;
  d.made.run = prepared(d, 2).bits == 32 ? &unary<float, Op> : &unary<double, Op>;
}
template <bool absolute, Decoder integer>
void decode_sign(Decoding& d) {
  if (passed_on(d, integer)) return;
  d.made.run = prepared(d, 2).bits == 32 ? &sign<float, absolute> : &sign<double, absolute>;
}
template <bool least, Decoder integer>
void decode_extreme(Decoding& d) {
  if (passed_on(d, integer)) return;
  const std::uint8_t more = static_cast<std::uint8_t>(
      (d.take("NaN") ? kNan : 0) | (d.take("xorsign") ? kXorSign : 0) | (d.take("abs") ? kAbsolute : 0));
  const Type type = prepared(d, d.operands() == 4 ? 4 : 3);
  d.made.extra = static_cast<std::uint8_t>(d.made.extra | more);
  d.made.run = type.bits == 32 ? &extreme<float, least> : &extreme<double, least>;
}

}  // namespace

void add_real(Decoders& all) {
  all["add"] = decode_binary<Add, &decode_integer_add>;
  all["sub"] = decode_binary<Subtract, &decode_integer_sub>;
  all["mul"] = decode_binary<Multiply, &decode_integer_mul>;
  all["div"] = decode_binary<Divide, &decode_integer_div>;
  all["mad"] = decode_fused<&decode_integer_mad>;
  all["fma"] = decode_fused<nullptr>;
  all["rcp"] = decode_unary<Reciprocal>;
  all["sqrt"] = decode_unary<Root>;
  all["rsqrt"] = decode_unary<ReciprocalRoot>;
  all["sin"] = decode_unary<Sine>;
  all["cos"] = decode_unary<Cosine>;
  all["lg2"] = decode_unary<Logarithm>;
  all["ex2"] = decode_unary<Power>;
  all["tanh"] = decode_unary<Tangent>;
  all["neg"] = decode_sign<false, &decode_integer_neg>;
  all["abs"] = decode_sign<true, &decode_integer_abs>;
  all["min"] = decode_extreme<true, &decode_integer_min>;
  all["max"] = decode_extreme<false, &decode_integer_max>;
  all["copysign"] = [](Decoding& d) {
    const Type type = d.take_type();
    d.need(3);
    d.all(type);
    d.made.run = type.bits == 32 ? &copy_sign<float> : &copy_sign<double>;
    d.finish();
  };
  all["testp"] = [](Decoding& d) {
    static constexpr std::string_view kTests[] = {"finite",     "infinite", "number",
                                                  "notanumber", "normal",   "subnormal"};
    d.made.mode = 255;
    for (std::uint8_t mode = 0; mode < 6; ++mode)
      if (d.take(kTests[mode])) d.made.mode = mode;
    if (d.made.mode == 255) throw Unknown{"test"};
    const Type type = d.take_type();
    if (type.kind != 'f' || type.bits < 32) throw Unknown{"type"};
    d.need(2);
    d.made.o[0] = d.predicate(0);
    d.made.o[1] = d.operand(1, type);
    d.made.run = type.bits == 32 ? &test<float> : &test<double>;
    d.finish();
  };
}

}  // namespace gangway::testing::ptx

// Integer arithmetic.
#include <limits>

#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

__extension__ using Signed128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;
template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
using Wide =
    std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

#define GANGWAY_BINARY(NAME, EXPRESSION)                           \
  template <class T>                                               \
  struct NAME {                                                    \
    static Step run(Machine& m, Thread& t, const Instruction& i) { \
      using U [[maybe_unused]] = Unsigned<T>;                      \
      const T a = in<T>(m, t, i.o[1]), b = in<T>(m, t, i.o[2]);    \
      out<T>(t, i.o[0], static_cast<T>(EXPRESSION));               \
      return Step::next;                                           \
    }                                                              \
  };
GANGWAY_BINARY(Add, static_cast<U>(a) + static_cast<U>(b))
GANGWAY_BINARY(Subtract, static_cast<U>(a) - static_cast<U>(b))
GANGWAY_BINARY(Low, static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b))
GANGWAY_BINARY(High, (static_cast<Wide<T>>(a) * b) >> (8 * sizeof(T)))
GANGWAY_BINARY(Minimum, a < b ? a : b)
GANGWAY_BINARY(Maximum, a > b ? a : b)
#undef GANGWAY_BINARY

template <class T>
T saturated_sum(T a, T b, bool minus) {
  const auto wide = minus ? static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b)
                          : static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b);
  const std::int64_t least = std::numeric_limits<std::int32_t>::min();
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return static_cast<T>(wide < least ? least : wide > most ? most : wide);
}

template <bool minus>
Step saturating(Machine& m, Thread& t, const Instruction& i) {
  out(t, i.o[0], saturated_sum(in<std::int32_t>(m, t, i.o[1]), in<std::int32_t>(m, t, i.o[2]), minus));
  return Step::next;
}

// Division by zero gives ones, as GPUs do; the rest is then the dividend.
template <class T>
struct Divide {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const T a = in<T>(m, t, i.o[1]), b = in<T>(m, t, i.o[2]);
    T result = static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      result = static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
    else if (b != 0)
      result = static_cast<T>(a / b);
    out<T>(t, i.o[0], result);
    return Step::next;
  }
};
template <class T>
struct Remainder {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const T a = in<T>(m, t, i.o[1]), b = in<T>(m, t, i.o[2]);
    T result = a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      result = 0;
    else if (b != 0)
      result = static_cast<T>(a % b);
    out<T>(t, i.o[0], result);
    return Step::next;
  }
};

template <class T>
struct MultiplyWide {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    using W = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const W product = static_cast<W>(in<T>(m, t, i.o[1])) * static_cast<W>(in<T>(m, t, i.o[2]));
    write(t, i.o[0], static_cast<std::uint64_t>(product));
    return Step::next;
  }
};
template <class T>
struct MadWide {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    using W = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const W product = static_cast<W>(in<T>(m, t, i.o[1])) * static_cast<W>(in<T>(m, t, i.o[2]));
    write(t, i.o[0], static_cast<std::uint64_t>(product) + read(m, t, i.o[3]));
    return Step::next;
  }
};
template <class T>
struct MadLow {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const auto product =
        static_cast<std::uint64_t>(in<T>(m, t, i.o[1])) * static_cast<std::uint64_t>(in<T>(m, t, i.o[2]));
    out<T>(t, i.o[0], static_cast<T>(product + static_cast<std::uint64_t>(in<T>(m, t, i.o[3]))));
    return Step::next;
  }
};
template <class T>
struct MadHigh {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const auto high =
        static_cast<T>((static_cast<Wide<T>>(in<T>(m, t, i.o[1])) * in<T>(m, t, i.o[2])) >> (8 * sizeof(T)));
    if (i.mode != 0)
      out<std::int32_t>(
          t, i.o[0], saturated_sum(static_cast<std::int32_t>(high), in<std::int32_t>(m, t, i.o[3]), false));
    else
      out<T>(t, i.o[0],
             static_cast<T>(static_cast<Unsigned<T>>(high) + static_cast<Unsigned<T>>(in<T>(m, t, i.o[3]))));
    return Step::next;
  }
};

template <class T>
struct Negate {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    out<T>(t, i.o[0], static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(in<T>(m, t, i.o[1]))));
    return Step::next;
  }
};
template <class T>
struct Absolute {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const T a = in<T>(m, t, i.o[1]);
    out<T>(
        t, i.o[0],
        static_cast<T>(a < 0 ? Unsigned<T>{0} - static_cast<Unsigned<T>>(a) : static_cast<Unsigned<T>>(a)));
    return Step::next;
  }
};
template <class T>
struct SumOfDifferences {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    using U = Unsigned<T>;
    const T a = in<T>(m, t, i.o[1]), b = in<T>(m, t, i.o[2]);
    const U difference = a < b ? static_cast<U>(static_cast<U>(b) - static_cast<U>(a))
                               : static_cast<U>(static_cast<U>(a) - static_cast<U>(b));
    out<T>(t, i.o[0], static_cast<T>(difference + static_cast<U>(in<T>(m, t, i.o[3]))));
    return Step::next;
  }
};

// With the carry flag. mode: 1 takes it in; extra: 1 sets it.
template <class T>
struct AddCarry {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    using U = Unsigned<T>;
    const auto sum = static_cast<Unsigned128>(static_cast<U>(in<T>(m, t, i.o[1]))) +
                     static_cast<U>(in<T>(m, t, i.o[2])) + (i.mode != 0 && t.carry ? 1 : 0);
    if (i.extra != 0) t.carry = ((sum >> (8 * sizeof(T))) & 1) != 0;
    write(t, i.o[0], static_cast<U>(sum));
    return Step::next;
  }
};
template <class T>
struct SubtractBorrow {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    using U = Unsigned<T>;
    const auto difference = static_cast<Unsigned128>(static_cast<U>(in<T>(m, t, i.o[1]))) -
                            static_cast<U>(in<T>(m, t, i.o[2])) - (i.mode != 0 && t.carry ? 1 : 0);
    if (i.extra != 0) t.carry = ((difference >> (8 * sizeof(T))) & 1) != 0;
    write(t, i.o[0], static_cast<U>(difference));
    return Step::next;
  }
};
template <class T, bool high>
struct MadCarryOf {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    using U = Unsigned<T>;
    const auto product = static_cast<Wide<T>>(in<T>(m, t, i.o[1])) * in<T>(m, t, i.o[2]);
    const U part = static_cast<U>(high ? product >> (8 * sizeof(T)) : product);
    const auto sum = static_cast<Unsigned128>(part) + static_cast<U>(in<T>(m, t, i.o[3])) +
                     (i.mode != 0 && t.carry ? 1 : 0);
    if (i.extra != 0) t.carry = ((sum >> (8 * sizeof(T))) & 1) != 0;
    write(t, i.o[0], static_cast<U>(sum));
    return Step::next;
  }
};
template <class T>
using MadCarryLow = MadCarryOf<T, false>;
template <class T>
using MadCarryHigh = MadCarryOf<T, true>;

template <template <class> class Made>
void simple(Decoding& d) {
  const Type type = d.take_type();
  d.all(type);
  d.made.run = for_integer<Made>(type);
  d.finish();
}

template <template <class> class Made, bool minus>
void sum(Decoding& d) {
  const bool saturate = d.take("sat"), carry = d.take("cc");
  const Type type = d.take_type();
  if (type.real() || type.pair) throw Unknown{"type"};
  d.need(3);
  d.all(type);
  if (carry) {
    d.made.extra = 1;
    d.made.run = minus ? for_integer<SubtractBorrow>(type) : for_integer<AddCarry>(type);
  } else if (saturate) {
    if (type.kind != 's' || type.bits != 32) throw Unknown{"'.sat'"};
    d.made.run = &saturating<minus>;
  } else {
    d.made.run = for_integer<Made>(type);
  }
  d.finish();
}

template <template <class> class Made>
void with_carry(Decoding& d) {
  d.made.mode = 1;
  d.made.extra = d.take("cc") ? 1 : 0;
  simple<Made>(d);
}

void mad_carry(Decoding& d) {
  d.made.mode = d.opcode() == "madc" ? 1 : 0;
  d.made.extra = d.take("cc") ? 1 : 0;
  const bool high = d.take("hi");
  if (!high && !d.take("lo")) throw Unknown{"neither .hi nor .lo"};
  if (high)
    simple<MadCarryHigh>(d);
  else
    simple<MadCarryLow>(d);
}

}  // namespace

void decode_integer_mad(Decoding& d) {
  for (const std::string_view part : d.statement.opcode)
    if (part == "cc") return mad_carry(d);
  d.need(4);
  if (d.take("wide")) {
    const Type type = d.take_type();
    d.all(type);
    d.made.run = for_integer<MadWide>(type);
    return d.finish();
  }
  const bool high = d.take("hi");
  if (!high && !d.take("lo")) throw Unknown{"none of .hi, .lo, .wide"};
  d.made.mode = d.take("sat") ? 1 : 0;
  if (high)
    simple<MadHigh>(d);
  else
    simple<MadLow>(d);
}

void decode_integer_mul(Decoding& d) {
  d.need(3);
  if (d.take("wide")) return simple<MultiplyWide>(d);
  if (d.take("hi")) return simple<High>(d);
  if (!d.take("lo")) throw Unknown{"none of .hi, .lo, .wide"};
  simple<Low>(d);
}

void decode_integer_add(Decoding& d) { sum<Add, false>(d); }
void decode_integer_sub(Decoding& d) { sum<Subtract, true>(d); }
void decode_integer_div(Decoding& d) { simple<Divide>(d); }
void decode_integer_min(Decoding& d) { simple<Minimum>(d); }
void decode_integer_max(Decoding& d) { simple<Maximum>(d); }
void decode_integer_neg(Decoding& d) { simple<Negate>(d); }
void decode_integer_abs(Decoding& d) { simple<Absolute>(d); }

void add_integer(Decoders& all) {
  all["rem"] = simple<Remainder>;
  all["sad"] = simple<SumOfDifferences>;
  all["addc"] = with_carry<AddCarry>;
  all["subc"] = with_carry<SubtractBorrow>;
  all["madc"] = mad_carry;
}

}  // namespace gangway::testing::ptx

// Bits: logic, shifts, fields, counts, permutations.
#include <algorithm>

#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

template <class Op>
Step logic(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], Op{}(read(m, t, i.o[1]), read(m, t, i.o[2])));
  return Step::next;
}
template <class Op>
Step predicate_logic(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], Op{}(read_predicate(m, t, i.o[1]) ? 1u : 0u, read_predicate(m, t, i.o[2]) ? 1u : 0u) & 1);
  return Step::next;
}
Step complement(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], ~read(m, t, i.o[1]));
  return Step::next;
}
Step predicate_complement(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], read_predicate(m, t, i.o[1]) ? 0 : 1);
  return Step::next;
}
Step cnot(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], (read(m, t, i.o[1]) & mask_of(i.width * 8u)) == 0 ? 1 : 0);
  return Step::next;
}

template <class T>
struct Left {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const std::uint32_t by = in<std::uint32_t>(m, t, i.o[2]);
    const auto a = static_cast<std::make_unsigned_t<T>>(in<T>(m, t, i.o[1]));
    write(t, i.o[0], by >= 8 * sizeof(T) ? 0 : static_cast<std::make_unsigned_t<T>>(std::uint64_t{a} << by));
    return Step::next;
  }
};
template <class T>
struct Right {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const std::uint32_t by = in<std::uint32_t>(m, t, i.o[2]);
    const T a = in<T>(m, t, i.o[1]);
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    out<T>(t, i.o[0],
           by >= kBits ? static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0) : static_cast<T>(a >> by));
    return Step::next;
  }
};

// mode: 1 right; extra: 1 wraps, else clamps.
Step funnel(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t both = (read(m, t, i.o[2]) & 0xFFFFFFFF) << 32 | (read(m, t, i.o[1]) & 0xFFFFFFFF);
  std::uint32_t by = in<std::uint32_t>(m, t, i.o[3]);
  by = i.extra != 0 ? by & 31 : std::min(by, 32u);
  write(t, i.o[0], static_cast<std::uint32_t>(i.mode != 0 ? both >> by : both >> (32 - by)));
  return Step::next;
}

Step population(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], std::popcount(read(m, t, i.o[1]) & mask_of(i.width * 8u)));
  return Step::next;
}
Step leading_zeros(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], std::countl_zero(read(m, t, i.o[1]) & mask_of(i.width * 8u)) - (64 - i.width * 8));
  return Step::next;
}
Step reversed(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t a = read(m, t, i.o[1]);
  std::uint64_t result = 0;
  for (std::uint32_t bit = 0; bit < i.width * 8u; ++bit) result = result << 1 | ((a >> bit) & 1);
  write(t, i.o[0], result);
  return Step::next;
}
// mode: 1 signed; extra: shiftamt.
Step find_leading(Machine& m, Thread& t, const Instruction& i) {
  const std::uint32_t bits = i.width * 8u;
  std::uint64_t a = read(m, t, i.o[1]) & mask_of(bits);
  if (i.mode != 0 && ((a >> (bits - 1)) & 1) != 0) a = ~a & mask_of(bits);
  std::uint32_t result = 0xFFFFFFFF;
  if (a != 0) {
    result = 63 - static_cast<std::uint32_t>(std::countl_zero(a));
    if (i.extra != 0) result = bits - 1 - result;
  }
  write(t, i.o[0], result);
  return Step::next;
}
// The position of the n-th bit that is set, counted from a base upwards (n > 0) or downwards (n < 0).
Step find_nth(Machine& m, Thread& t, const Instruction& i) {
  const auto mask = in<std::uint32_t>(m, t, i.o[1]);
  const auto base = in<std::uint32_t>(m, t, i.o[2]);
  const auto nth = in<std::int32_t>(m, t, i.o[3]);
  std::uint32_t result = 0xFFFFFFFF;
  if (nth == 0) {
    if (base < 32 && ((mask >> base) & 1) != 0) result = base;
  } else {
    const std::int32_t step = nth > 0 ? 1 : -1;
    std::int64_t left = nth > 0 ? nth : -static_cast<std::int64_t>(nth);
    for (std::int64_t at = base; at >= 0 && at < 32; at += step)
      if (((mask >> at) & 1) != 0 && --left == 0) {
        result = static_cast<std::uint32_t>(at);
        break;
      }
  }
  write(t, i.o[0], result);
  return Step::next;
}

// mode: 1 signed.
Step extract(Machine& m, Thread& t, const Instruction& i) {
  const std::uint32_t bits = i.width * 8u;
  const std::uint64_t a = read(m, t, i.o[1]) & mask_of(bits);
  const auto first = static_cast<std::uint32_t>(read(m, t, i.o[2]) & 255);
  const auto count = static_cast<std::uint32_t>(read(m, t, i.o[3]) & 255);
  std::uint64_t result = first >= 64 ? 0 : (a >> first) & mask_of(count);
  if (i.mode != 0) {
    const std::uint32_t top = std::min(first + count - 1, bits - 1);
    const bool ones = count != 0 && ((a >> top) & 1) != 0;
    const std::uint32_t have = first >= bits ? 0 : std::min(count, bits - first);
    if (ones) result |= ~mask_of(have);
  }
  write(t, i.o[0], result & mask_of(bits));
  return Step::next;
}
Step insert(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t a = read(m, t, i.o[1]), b = read(m, t, i.o[2]);
  const auto first = static_cast<std::uint32_t>(read(m, t, i.o[3]) & 255);
  const auto count = static_cast<std::uint32_t>(read(m, t, i.o[4]) & 255);
  std::uint64_t field = first >= 64 ? 0 : mask_of(count) << first;
  field &= mask_of(i.width * 8u);
  write(t, i.o[0], (b & ~field) | (first >= 64 ? 0 : (a << first) & field));
  return Step::next;
}
// mode: 1 clamps.
Step field_mask(Machine& m, Thread& t, const Instruction& i) {
  auto first = in<std::uint32_t>(m, t, i.o[1]), count = in<std::uint32_t>(m, t, i.o[2]);
  if (i.mode != 0) {
    first = std::min(first, 32u);
    count = std::min(count, 32u);
  } else {
    first &= 31;
    count &= 31;
  }
  write(t, i.o[0], mask_of(count) << first & 0xFFFFFFFF);
  return Step::next;
}

Step lop3(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t a = read(m, t, i.o[1]), b = read(m, t, i.o[2]), c = read(m, t, i.o[3]);
  const std::uint64_t table = read(m, t, i.o[4]);
  std::uint64_t result = 0;
  for (int row = 0; row < 8; ++row)
    if (((table >> row) & 1) != 0)
      result |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  write(t, i.o[0], result);
  return Step::next;
}

enum : std::uint8_t { kPlain, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16 };

Step permute(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t from = (read(m, t, i.o[2]) & 0xFFFFFFFF) << 32 | (read(m, t, i.o[1]) & 0xFFFFFFFF);
  const auto control = in<std::uint32_t>(m, t, i.o[3]);
  std::uint32_t result = 0;
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    const std::uint32_t c = control & 3;
    std::uint32_t pick = 0;
    bool sign = false;
    switch (i.mode) {
      case kPlain:
        pick = (control >> (4 * byte)) & 7;
        sign = ((control >> (4 * byte)) & 8) != 0;
        break;
      case kF4e:
        pick = (c + byte) & 7;
        break;
      case kB4e:
        pick = (c - byte) & 7;
        break;
      case kRc8:
        pick = c;
        break;
      case kEcl:
        pick = std::max(byte, c);
        break;
      case kEcr:
        pick = std::min(byte, c);
        break;
      default:
        pick = (c & 1) * 2 + (byte & 1);
        break;
    }
    auto value = static_cast<std::uint32_t>((from >> (8 * pick)) & 255);
    if (sign) value = (value & 128) != 0 ? 255 : 0;
    result |= value << (8 * byte);
  }
  write(t, i.o[0], result);
  return Step::next;
}

template <class Op>
void decode_logic(Decoding& d) {
  const Type type = d.take_type();
  d.need(3);
  d.all(type);
  d.made.run = type.kind == 'p' ? &predicate_logic<Op> : &logic<Op>;
  d.finish();
}

void decode_shift(Decoding& d, bool left) {
  const Type type = d.take_type();
  d.need(3);
  d.all(type);
  d.made.run = left ? for_integer<Left>(type) : for_integer<Right>(type);
  d.finish();
}

// Of one source, whose width matters.
template <Handler run>
void counted(Decoding& d) {
  if (d.take("shiftamt")) d.made.extra = 1;
  const Type type = d.take_type();
  d.made.width = static_cast<std::uint8_t>(type.bytes());
  d.made.mode = type.is_signed() ? 1 : 0;
  d.all(type);
  d.made.run = run;
  d.finish();
}

}  // namespace

void add_bits(Decoders& all) {
  all["and"] = decode_logic<std::bit_and<>>;
  all["or"] = decode_logic<std::bit_or<>>;
  all["xor"] = decode_logic<std::bit_xor<>>;
  all["not"] = [](Decoding& d) {
    const Type type = d.take_type();
    d.need(2);
    d.all(type);
    d.made.run = type.kind == 'p' ? &predicate_complement : &complement;
    d.finish();
  };
  all["cnot"] = counted<&cnot>;
  all["shl"] = [](Decoding& d) { decode_shift(d, true); };
  all["shr"] = [](Decoding& d) { decode_shift(d, false); };
  all["shf"] = [](Decoding& d) {
    d.made.mode = d.take("r") ? 1 : 0;
    if (d.made.mode == 0 && !d.take("l")) throw Unknown{"neither .l nor .r"};
    d.made.extra = d.take("wrap") ? 1 : 0;
    if (d.made.extra == 0 && !d.take("clamp")) throw Unknown{"neither .wrap nor .clamp"};
    d.need(4);
    d.all(d.take_type());
    d.made.run = &funnel;
    d.finish();
  };
  all["popc"] = counted<&population>;
  all["clz"] = counted<&leading_zeros>;
  all["brev"] = counted<&reversed>;
  all["bfind"] = counted<&find_leading>;
  all["fns"] = counted<&find_nth>;
  all["bfe"] = counted<&extract>;
  all["bfi"] = counted<&insert>;
  all["bmsk"] = [](Decoding& d) {
    d.made.mode = d.take("clamp") ? 1 : 0;
    if (d.made.mode == 0 && !d.take("wrap")) throw Unknown{"neither .wrap nor .clamp"};
    d.need(3);
    d.all(d.take_type());
    d.made.run = &field_mask;
    d.finish();
  };
  all["lop3"] = [](Decoding& d) {
    d.need(5);
    d.all(d.take_type());
    d.made.run = &lop3;
    d.finish();
  };
  all["prmt"] = [](Decoding& d) {
    d.need(4);
    d.all(d.take_type());
    static constexpr std::string_view kModes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    for (std::uint8_t mode = 1; mode < 7; ++mode)
      if (d.take(kModes[mode])) d.made.mode = mode;
    d.made.run = &permute;
    d.finish();
  };
}

}  // namespace gangway::testing::ptx

// Comparisons and choices.
#include <optional>

#include "tests/ptx/interpreter/real.hpp"

namespace gangway::testing::ptx {
namespace {

enum Relation : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan_ };
constexpr std::string_view kRelations[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                           "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
enum Combine : std::uint8_t { kNone, kAnd, kOr, kXor };

template <class T>
bool holds(Relation relation, T a, T b) {
  const bool unordered = a != a || b != b;
  switch (relation) {
    case eq:
      return a == b;
    case ne:
      return !unordered && a != b;
    case lt:
      return a < b;
    case le:
      return a <= b;
    case gt:
      return a > b;
    case ge:
      return a >= b;
    case equ:
      return unordered || a == b;
    case neu:
      return unordered || a != b;
    case ltu:
      return unordered || a < b;
    case leu:
      return unordered || a <= b;
    case gtu:
      return unordered || a > b;
    case geu:
      return unordered || a >= b;
    case num:
      return !unordered;
    case nan_:
      return unordered;
  }
  return false;
}

bool combined(const Machine& m, const Thread& t, const Instruction& i, bool value, int at) {
  if (i.extra == kNone) return value;
  const bool other = read_predicate(m, t, i.o[at]);
  return i.extra == kAnd ? value && other : i.extra == kOr ? value || other : value != other;
}

template <class T>
T sourced(const Machine& m, const Thread& t, const Instruction& i, int at) {
  T value = in<T>(m, t, i.o[at]);
  if constexpr (std::is_same_v<T, float>)
    if (i.count == 2 && std::fabs(value) < 1.17549435e-38f) value = 0;  // .ftz
  return value;
}

// o: p, q, a, b, c
template <class T>
struct SetPredicates {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const bool value =
        holds<T>(static_cast<Relation>(i.mode), sourced<T>(m, t, i, 2), sourced<T>(m, t, i, 3));
    const bool first = combined(m, t, i, value, 4), second = combined(m, t, i, !value, 4);
    write(t, i.o[0], first ? 1 : 0);
    write(t, i.o[1], second ? 1 : 0);
    return Step::next;
  }
};
// One half of a pair for each predicate, or one half alone. width: 1 bf16
Step set_halves(Machine& m, Thread& t, const Instruction& i) {
  for (int half = 0; half < i.count; ++half) {
    const double a = from_half(static_cast<std::uint16_t>(read(m, t, i.o[2]) >> (16 * half)), i.width != 0);
    const double b = from_half(static_cast<std::uint16_t>(read(m, t, i.o[3]) >> (16 * half)), i.width != 0);
    write(t, i.o[half], combined(m, t, i, holds(static_cast<Relation>(i.mode), a, b), 4) ? 1 : 0);
  }
  return Step::next;
}
// o: d, -, a, b, c; width: 1 for a real destination
template <class T>
struct Set {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const bool value =
        holds<T>(static_cast<Relation>(i.mode), sourced<T>(m, t, i, 2), sourced<T>(m, t, i, 3));
    const std::uint32_t yes = i.width != 0 ? 0x3F800000 : 0xFFFFFFFF;
    write(t, i.o[0], combined(m, t, i, value, 4) ? yes : 0);
    return Step::next;
  }
};

Step choose(Machine& m, Thread& t, const Instruction& i) {
  write(t, i.o[0], read_predicate(m, t, i.o[3]) ? read(m, t, i.o[1]) : read(m, t, i.o[2]));
  return Step::next;
}
// mode: 0 by an integer's sign, 1 by a real's
Step choose_by_sign(Machine& m, Thread& t, const Instruction& i) {
  const bool first = i.mode == 0 ? in<std::int32_t>(m, t, i.o[3]) >= 0 : in<float>(m, t, i.o[3]) >= 0;
  write(t, i.o[0], first ? read(m, t, i.o[1]) : read(m, t, i.o[2]));
  return Step::next;
}

std::optional<Relation> take_relation(Decoding& d, Type type) {
  for (std::uint8_t r = 0; r < 14; ++r)
    if (d.take(kRelations[r])) return static_cast<Relation>(r);
  if (type.real()) return std::nullopt;
  if (d.take("lo")) return lt;  // of unsigned integers
  if (d.take("ls")) return le;
  if (d.take("hi")) return gt;
  if (d.take("hs")) return ge;
  return std::nullopt;
}

template <template <class> class Made>
Handler for_any(Type type) {
  if (type.kind == 'f' && type.bits == 32) return &Made<float>::run;
  if (type.kind == 'f' && type.bits == 64) return &Made<double>::run;
  return for_integer<Made>(type);
}

void decode_comparison(Decoding& d, bool predicate) {
  Type to;
  if (!predicate) to = d.take_type();
  const Type type = d.take_type();
  const std::optional<Relation> relation = take_relation(d, type);
  if (!relation) throw Unknown{"relation"};
  d.made.mode = *relation;
  d.made.extra = d.take("and") ? kAnd : d.take("or") ? kOr : d.take("xor") ? kXor : kNone;
  d.made.count = d.take("ftz") ? 2 : 1;
  d.need(d.made.extra != kNone ? 4 : 3);
  if (predicate && d.written(0).kind == Written::Kind::pair) {
    d.made.o[0] = d.operand(d.written(0).parts[0], {'p', 8, false});
    d.made.o[1] = d.operand(d.written(0).parts[1], {'p', 8, false});
  } else {
    d.made.o[0] = predicate ? d.predicate(0) : d.operand(0, to);
  }
  d.made.o[2] = d.operand(1, type);
  d.made.o[3] = d.operand(2, type);
  if (d.made.extra != kNone) d.made.o[4] = d.predicate(3);
  if (type.real() && type.bits == 16) {
    if (!predicate) throw Unknown{"type"};
    d.made.width = type.kind == 'h' ? 1 : 0;
    d.made.count = type.pair ? 2 : 1;
    d.made.run = &set_halves;
  } else {
    if (!predicate && to.bits != 32) throw Unknown{"type"};
    d.made.width = !predicate && to.kind == 'f' ? 1 : 0;
    d.made.run = predicate ? for_any<SetPredicates>(type) : for_any<Set>(type);
  }
  d.finish();
}

}  // namespace

void add_compare(Decoders& all) {
  all["setp"] = [](Decoding& d) { decode_comparison(d, true); };
  all["set"] = [](Decoding& d) { decode_comparison(d, false); };
  all["selp"] = [](Decoding& d) {
    const Type type = d.take_type();
    d.need(4);
    for (std::size_t i = 0; i < 3; ++i) d.made.o[i] = d.operand(i, type);
    d.made.o[3] = d.predicate(3);
    d.made.run = &choose;
    d.finish();
  };
  all["slct"] = [](Decoding& d) {
    (void)d.take("ftz");
    const Type type = d.take_type(), by = d.take_type();
    d.need(4);
    for (std::size_t i = 0; i < 3; ++i) d.made.o[i] = d.operand(i, type);
    d.made.o[3] = d.operand(3, by);
    d.made.mode = by.real() ? 1 : 0;
    d.made.run = &choose_by_sign;
    d.finish();
  };
}

}  // namespace gangway::testing::ptx

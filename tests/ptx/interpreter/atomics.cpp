// Atomic operations on global and shared memory. Those on global memory are atomic for threads of the host
// too.
#include "tests/ptx/interpreter/decoding.hpp"
#include "tests/ptx/interpreter/real.hpp"

namespace gangway::testing::ptx {
namespace {

enum : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExch, kInc, kDec, kCas };
constexpr std::string_view kNames[] = {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"};

template <class T>
T result(std::uint8_t operation, T old, T b, T c) {
  if (operation == kExch) return b;
  if (operation == kCas) {
    if constexpr (std::is_integral_v<T>) return old == b ? c : old;
  }
  if (operation == kAdd) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                            static_cast<std::make_unsigned_t<T>>(b));
    else
      return old + b;
  }
  if (operation == kMin) return b < old ? b : old;
  if (operation == kMax) return b > old ? b : old;
  if constexpr (std::is_integral_v<T>) {
    switch (operation) {
      case kAnd:
        return static_cast<T>(old & b);
      case kOr:
        return static_cast<T>(old | b);
      case kXor:
        return static_cast<T>(old ^ b);
      case kInc:
        return old >= b ? T{0} : static_cast<T>(old + 1);
      case kDec:
        return old == 0 || old > b ? b : static_cast<T>(old - 1);
      default:
        break;
    }
  }
  return old;
}

// o: destination, base, offset, b, c
template <class T>
struct Atomic {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
    auto* const at =
        reinterpret_cast<Word*>(memory_at(m, t, i.space, address_of(m, t, i, 1), sizeof(T), sizeof(T), true));
    const T b = in<T>(m, t, i.o[3]), c = in<T>(m, t, i.o[4]);
    Word old = __atomic_load_n(at, __ATOMIC_RELAXED);
    Word made = 0;
    do made = std::bit_cast<Word>(result<T>(i.mode, std::bit_cast<T>(old), b, c));
    while (!__atomic_compare_exchange_n(at, &old, made, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    write(t, i.o[0], old);
    return Step::next;
  }
};

// Adds halves, one or two, or two floats. extra: 1 bf16, 2 a pair.
Step add_halves(Machine& m, Thread& t, const Instruction& i) {
  const int halves = (i.extra & 2) != 0 ? 2 : 1;
  const bool brain = (i.extra & 1) != 0;
  const std::uint32_t bytes = 2 * halves;
  std::byte* const at = memory_at(m, t, i.space, address_of(m, t, i, 1), bytes, bytes, true);
  const std::uint64_t b = read(m, t, i.o[3]);
  const auto sum = [&](std::uint64_t old) {
    std::uint64_t made = 0;
    for (int h = 0; h < halves; ++h)
      made |=
          static_cast<std::uint64_t>(to_half(from_half(static_cast<std::uint16_t>(old >> (16 * h)), brain) +
                                                 from_half(static_cast<std::uint16_t>(b >> (16 * h)), brain),
                                             brain, Rounding::nearest))
          << (16 * h);
    return made;
  };
  if (halves == 1) {
    auto* const word = reinterpret_cast<std::uint16_t*>(at);
    std::uint16_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, static_cast<std::uint16_t>(sum(old)), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    write(t, i.o[0], old);
  } else {
    auto* const word = reinterpret_cast<std::uint32_t*>(at);
    std::uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, static_cast<std::uint32_t>(sum(old)), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    write(t, i.o[0], old);
  }
  return Step::next;
}

void decode_atomic(Decoding& d, bool reduction) {
  const bool policy = d.take("L2::cache_hint");
  static constexpr std::string_view kHints[] = {"relaxed", "acquire", "release", "acq_rel", "cta",
                                                "gpu",     "sys",     "cluster", "noftz"};
  for (const std::string_view hint : kHints) (void)d.take(hint);
  d.made.space = d.take("global")                            ? Space::global
                 : d.take("shared") || d.take("shared::cta") ? Space::shared
                                                             : Space::none;
  d.made.mode = 255;
  for (std::uint8_t operation = 0; operation < 10; ++operation)
    if (d.take(kNames[operation])) d.made.mode = operation;
  if (d.made.mode == 255) throw Unknown{"operation"};
  const Type type = d.take_type();
  d.finish();
  const std::size_t first = reduction ? 0 : 1, sources = d.made.mode == kCas ? 2 : 1;
  d.need(first + 1 + sources + (policy ? 1 : 0));
  if (!reduction) d.made.o[0] = d.operand(0, type);
  d.address(first, 1);
  for (std::size_t k = 0; k < sources; ++k) d.made.o[3 + k] = d.operand(first + 1 + k, type);
  if (type.real() && type.bits == 16) {
    if (d.made.mode != kAdd) throw Unknown{"operation"};
    d.made.extra = static_cast<std::uint8_t>((type.kind == 'h' ? 1 : 0) | (type.pair ? 2 : 0));
    d.made.run = &add_halves;
    return;
  }
  if (type.kind == 'f') {
    if (d.made.mode != kAdd && d.made.mode != kExch) throw Unknown{"operation"};
    d.made.run = type.bits == 32 ? &Atomic<float>::run : &Atomic<double>::run;
    return;
  }
  const bool s = type.is_signed();
  switch (type.bits) {
    case 16:
      d.made.run = s ? &Atomic<std::int16_t>::run : &Atomic<std::uint16_t>::run;
      return;
    case 32:
      d.made.run = s ? &Atomic<std::int32_t>::run : &Atomic<std::uint32_t>::run;
      return;
    case 64:
      d.made.run = s ? &Atomic<std::int64_t>::run : &Atomic<std::uint64_t>::run;
      return;
    default:
      throw Unknown{"type"};
  }
}

}  // namespace

void add_atomics(Decoders& all) {
  all["atom"] = [](Decoding& d) { decode_atomic(d, false); };
  all["red"] = [](Decoding& d) {
    for (const std::string_view part : d.statement.opcode)
      if (part == "async") throw Unknown{"'.async'"};
    decode_atomic(d, true);
  };
}

}  // namespace gangway::testing::ptx

// Products of 24 bits, and sums of several products.
#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

template <class T>
T low24(T value) {
  if (std::is_signed_v<T>)
    return static_cast<T>(static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << 8) >> 8);
  return static_cast<T>(static_cast<std::uint32_t>(value) & 0xFFFFFF);
}
// mode: 1 hi; extra: with a summand
template <class T>
struct Of24Bits {
  static Step run(Machine& m, Thread& t, const Instruction& i) {
    const std::int64_t product = static_cast<std::int64_t>(low24(in<T>(m, t, i.o[1]))) *
                                 static_cast<std::int64_t>(low24(in<T>(m, t, i.o[2])));
    auto result = static_cast<std::uint32_t>(i.mode != 0 ? product >> 16 : product);
    if (i.extra != 0) result += in<std::uint32_t>(m, t, i.o[3]);
    write(t, i.o[0], result);
    return Step::next;
  }
};

// mode: 1 a is signed, 2 b is signed.
Step dp4a(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t a = read(m, t, i.o[1]), b = read(m, t, i.o[2]);
  std::uint32_t sum = in<std::uint32_t>(m, t, i.o[3]);
  for (int byte = 0; byte < 4; ++byte) {
    const std::uint64_t x = (a >> (8 * byte)) & 255, y = (b >> (8 * byte)) & 255;
    const auto left = (i.mode & 1) != 0 ? static_cast<std::int8_t>(x) : static_cast<std::int32_t>(x);
    const auto right = (i.mode & 2) != 0 ? static_cast<std::int8_t>(y) : static_cast<std::int32_t>(y);
    sum += static_cast<std::uint32_t>(left * right);
  }
  write(t, i.o[0], sum);
  return Step::next;
}
Step dp2a(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t a = read(m, t, i.o[1]), b = read(m, t, i.o[2]) >> (i.extra != 0 ? 16 : 0);
  std::uint32_t sum = in<std::uint32_t>(m, t, i.o[3]);
  for (int half = 0; half < 2; ++half) {
    const std::uint64_t x = (a >> (16 * half)) & 0xFFFF, y = (b >> (8 * half)) & 255;
    const auto left = (i.mode & 1) != 0 ? static_cast<std::int16_t>(x) : static_cast<std::int32_t>(x);
    const auto right = (i.mode & 2) != 0 ? static_cast<std::int8_t>(y) : static_cast<std::int32_t>(y);
    sum += static_cast<std::uint32_t>(left * right);
  }
  write(t, i.o[0], sum);
  return Step::next;
}

}  // namespace

void add_products(Decoders& all) {
  all["mul24"] = all["mad24"] = [](Decoding& d) {
    d.made.mode = d.take("hi") ? 1 : 0;
    if (d.made.mode == 0 && !d.take("lo")) throw Unknown{"neither .hi nor .lo"};
    d.made.extra = d.opcode() == "mad24" ? 1 : 0;
    const Type type = d.take_type();
    if (type.bits != 32) throw Unknown{"type"};
    d.all(type);
    d.made.run = type.is_signed() ? &Of24Bits<std::int32_t>::run : &Of24Bits<std::uint32_t>::run;
    d.finish();
  };
  all["dp4a"] = all["dp2a"] = [](Decoding& d) {
    d.made.extra = d.take("hi") ? 1 : 0;
    (void)d.take("lo");
    const Type a = d.take_type(), b = d.take_type();
    d.made.mode = static_cast<std::uint8_t>((a.is_signed() ? 1 : 0) + (b.is_signed() ? 2 : 0));
    d.need(4);
    d.all({'b', 32, false});
    d.made.run = d.opcode() == "dp4a" ? &dp4a : &dp2a;
    d.finish();
  };
}

}  // namespace gangway::testing::ptx

// Arithmetic of f16 and bf16, alone or in pairs. It is done in double and rounded once; only a fused
// multiply-add may be rounded twice.
#include <algorithm>
#include <functional>

#include "tests/ptx/interpreter/real.hpp"

namespace gangway::testing::ptx {
namespace {

enum : std::uint8_t { kBrainFormat = 1, kPair = 2, kSaturate = 4, kRelu = 8, kNan = 16, kFlush = 32 };

using Function1 = double (*)(double);
using Function2 = double (*)(double, double);

double power(double a) { return std::exp2(a); }
double tangent(double a) { return std::tanh(a); }
double sum(double a, double b) { return a + b; }
double difference(double a, double b) { return a - b; }
double product(double a, double b) { return a * b; }
double least(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : a < b || (a == b && std::signbit(a)) ? a : b;
}
double most(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : a > b || (a == b && !std::signbit(a)) ? a : b;
}

template <class F>
Step each(Machine& m, Thread& t, const Instruction& i, int sources, F function) {
  const bool brain = (i.extra & kBrainFormat) != 0;
  std::uint64_t bits = 0;
  for (int half = 0; half < ((i.extra & kPair) != 0 ? 2 : 1); ++half) {
    double value[3] = {0, 0, 0};
    for (int s = 0; s < sources; ++s) {
      value[s] = from_half(static_cast<std::uint16_t>(read(m, t, i.o[s + 1]) >> (16 * half)), brain);
      if ((i.extra & kFlush) != 0 && std::fabs(value[s]) < std::ldexp(1.0, -14))
        value[s] = std::copysign(0.0, value[s]);
    }
    double result = function(value);
    if ((i.extra & kSaturate) != 0) result = std::isnan(result) ? 0 : std::clamp(result, 0.0, 1.0);
    if ((i.extra & kRelu) != 0 && result < 0) result = 0;
    bits |= static_cast<std::uint64_t>(to_half(result, brain, static_cast<Rounding>(i.mode))) << (16 * half);
  }
  write(t, i.o[0], bits);
  return Step::next;
}

template <Function1 function>
Step one(Machine& m, Thread& t, const Instruction& i) {
  return each(m, t, i, 1, [](const double* v) { return function(v[0]); });
}
template <Function2 function>
Step two(Machine& m, Thread& t, const Instruction& i) {
  return each(m, t, i, 2, [](const double* v) { return function(v[0], v[1]); });
}
template <Function2 function>
Step extreme(Machine& m, Thread& t, const Instruction& i) {
  const bool nan = (i.extra & kNan) != 0;
  return each(m, t, i, 2, [nan](const double* v) {
    return nan && (std::isnan(v[0]) || std::isnan(v[1])) ? std::nan("") : function(v[0], v[1]);
  });
}
Step fused(Machine& m, Thread& t, const Instruction& i) {
  return each(m, t, i, 3, [](const double* v) { return std::fma(v[0], v[1], v[2]); });
}

template <bool absolute>
Step sign(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t top = (i.extra & kPair) != 0 ? 0x80008000 : 0x8000, a = read(m, t, i.o[1]);
  write(t, i.o[0], absolute ? a & ~top : a ^ top);
  return Step::next;
}

}  // namespace

void decode_half(Decoding& d) {
  d.made.mode = static_cast<std::uint8_t>(take_rounding(d));
  (void)d.take("approx");
  d.made.extra = static_cast<std::uint8_t>((d.take("sat") ? kSaturate : 0) | (d.take("relu") ? kRelu : 0) |
                                           (d.take("NaN") ? kNan : 0) | (d.take("ftz") ? kFlush : 0));
  const Type type = d.take_type();
  d.made.extra = static_cast<std::uint8_t>(d.made.extra | (type.kind == 'h' ? kBrainFormat : 0) |
                                           (type.pair ? kPair : 0));
  d.all(type);
  static const std::unordered_map<std::string_view, std::pair<Handler, std::size_t>> kHandlers = {
      {"add", {&two<&sum>, 3}},       {"sub", {&two<&difference>, 3}}, {"mul", {&two<&product>, 3}},
      {"min", {&extreme<&least>, 3}}, {"max", {&extreme<&most>, 3}},   {"fma", {&fused, 4}},
      {"neg", {&sign<false>, 2}},     {"abs", {&sign<true>, 2}},       {"ex2", {&one<&power>, 2}},
      {"tanh", {&one<&tangent>, 2}}};
  const auto found = kHandlers.find(d.opcode());
  if (found == kHandlers.end()) throw Unknown{"type"};
  d.need(found->second.second);
  d.made.run = found->second.first;
  d.finish();
}

}  // namespace gangway::testing::ptx

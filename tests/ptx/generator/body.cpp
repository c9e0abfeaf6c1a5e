#include "tests/ptx/generator/body.hpp"

#include <algorithm>
#include <array>

namespace gangway::testing::ptx {

std::uint64_t Dice::bits() {
  std::uint64_t value = state_ += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

void Body::mix(const std::string& value) {
  const std::string w = wide();
  line("cvt.u64.u32 {}, {};", w, value);
  line("mad.lo.s64 %acc, %acc, {}, {};", 3 + 2 * dice_.roll(50), w);
}

std::string Body::declarations() const {
  return fmt::format(
      ".reg .pred %p<{}>;\n.reg .b32 %t<{}>;\n.reg .b64 %w<{}>;\n.reg .b32 %v<6>;\n.reg .b64 %acc;\n"
      ".reg .f32 %f<2>;\n.reg .b16 %h<3>;\n.reg .f64 %fd<3>;\n.local .align 16 .b8 depot[64];\n",
      predicates_ + 1, temporaries_ + 1, wides_ + 1);
}

void Body::statements(int count, Place place) {
  for (int k = 0; k < count; ++k) statement(place);
}

void Body::statement(Place place) {
  const bool all = place.uniform && s_.entry;  // barriers may stand here
  const bool shares = all && ready_;
  switch (dice_.roll(30)) {
    case 0:
    case 1:
      return condition(place);
    case 2:
      return loop(place);
    case 3:
      return table(place);
    case 4:
      return leaves ? leave(place) : plain();
    case 5:
    case 6:
    case 20:
    case 21:
      return s_.callable.empty() ? plain() : call(place);
    case 7:
    case 8:
      return shares && s_.static_shared ? exchange(false) : plain();
    case 9:
    case 10:
      return shares && s_.dynamic_shared ? exchange(true) : plain();
    case 11:
      return all ? barrier_reduction() : plain();
    case 12:
      return shares && s_.static_shared && !left ? named_barrier() : plain();
    case 13:
      return shares && s_.static_shared && !left ? hand_over() : plain();
    case 14:
      return shares && s_.static_shared ? shared_atomics() : plain();
    case 15:
      return shares && s_.static_shared ? asynchronous_copy() : plain();
    case 16:
    case 17:
      return all && !left && s_.threads % 32 == 0 ? warp() : plain();
    case 18:
      return s_.static_shared ? generic() : plain();
    case 19:
      return s_.entry ? global_atomics() : plain();
    default:
      return plain();
  }
}

void Body::plain() {
  if (!s_.entry && dice_.one_in(4)) return special();
  switch (dice_.roll(13)) {
    case 0:
    case 1:
    case 2:
      return special();
    case 3:
      return wide_arithmetic();
    case 4:
      return real_arithmetic();
    case 5:
      return vector_load();
    case 6:
      return local_memory();
    case 7:
      return predicated();
    case 8:
      return scope();
    case 9:
      return shared_address();
    default:
      return arithmetic();
  }
}

std::string Body::divergent() {
  const std::string p = predicate(), t = temporary();
  const std::uint32_t mask = dice_.one_in(3) ? 1 : dice_.one_in(2) ? 3 : 7;
  line("and.b32 {}, {}, {};", t, v(), mask);
  line("setp.{}.u32 {}, {}, {};", dice_.one_in(2) ? "eq" : "lt", p, t, dice_.roll(mask + 1));
  return p;
}

std::string Body::same() {
  static constexpr std::array kFrom{"%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y"};
  const std::string p = predicate(), t = temporary();
  const char* const from = s_.asks ? kFrom[dice_.roll(5)] : "%ntid.x";
  line("mov.u32 {}, {};", t, from);
  line("and.b32 {}, {}, {};", t, t, 1 + dice_.roll(3));
  line("setp.{}.s32 {}, {}, {};", dice_.one_in(2) ? "ne" : "le", p, t, dice_.roll(3));
  return p;
}

void Body::condition(Place place) {
  if (place.depth >= 3) return plain();
  const bool uniform = place.uniform && dice_.one_in(2);
  const std::string p = uniform ? same() : divergent();
  const std::string end = label();
  Place inner = place;
  ++inner.depth;
  inner.uniform = uniform;
  used(uniform ? "if of whole blocks" : "if that diverges");
  if (place.depth > 0) used("nested if");
  if (dice_.one_in(2)) {
    const std::string other = label();
    line("@{}{} bra {};", dice_.one_in(2) ? "!" : "", p, other);
    statements(static_cast<int>(dice_.between(1, 3)), inner);
    line("bra{} {};", uniform ? ".uni" : "", end);
    text += fmt::format("{}:\n", other);
    statements(static_cast<int>(dice_.between(1, 2)), inner);
  } else {
    line("@{} bra {};", p, end);
    statements(static_cast<int>(dice_.between(1, 4)), inner);
  }
  text += fmt::format("{}:\n", end);
}

void Body::loop(Place place) {
  if (place.depth >= 3) return plain();
  const bool uniform = place.uniform && dice_.one_in(2);
  const std::string counter = temporary(), p = predicate(), head = label();
  used(uniform ? "loop of whole blocks" : "loop that diverges");
  if (uniform) {
    line("mov.u32 {}, {};", counter, dice_.between(1, 3));
  } else {
    line("and.b32 {}, {}, 3;", counter, v());
    line("add.u32 {}, {}, 1;", counter, counter);
  }
  text += fmt::format("{}:\n", head);
  Place inner = place;
  ++inner.depth;
  inner.uniform = uniform;
  inner.in_loop = true;
  statements(static_cast<int>(dice_.between(1, 4)), inner);
  line("sub.u32 {}, {}, 1;", counter, counter);
  line("setp.ne.u32 {}, {}, 0;", p, counter);
  line("@{} bra {};", p, head);
}

void Body::table(Place place) {
  if (place.depth >= 3) return plain();
  const std::uint32_t count = dice_.between(2, 4);
  const std::string end = label(), targets = label(), t = temporary(), p = predicate();
  std::vector<std::string> labels;
  for (std::uint32_t k = 0; k < count; ++k) labels.push_back(label());
  used("branch table");
  line("rem.u32 {}, {}, {};", t, v(), count);
  text += fmt::format("{}: .branchtargets {};\n", targets, fmt::join(labels, ", "));
  line("brx.idx {}, {};", t, targets);
  Place inner = place;
  ++inner.depth;
  inner.uniform = false;
  for (const std::string& one : labels) {
    text += one + ":\n";
    statements(1, inner);
    line("bra {};", end);
  }
  text += end + ":\n";
}

// Threads leave for good. In a loop that is left to those kernels where some have left before, so that no
// barrier in it counts them.
void Body::leave(Place place) {
  if (place.in_loop && !left) return plain();
  const bool function = !s_.entry;
  const bool whole = place.uniform && !function && dice_.one_in(3);
  const std::string p = whole ? same() : divergent();
  const char* const how = function || dice_.one_in(2) ? "exit" : whole && dice_.one_in(2) ? "ret.uni" : "ret";
  used(function        ? "exit in a function"
       : whole         ? "whole block leaves"
       : how[0] == 'e' ? "early exit"
                       : "early ret");
  if (!ready_ && !function) used("leaves before shared memory is set up");
  if (!function && dice_.one_in(2)) {
    const std::string go_on = label();
    line("@!{} bra {};", p, go_on);
    line("st.global.u64 [%mine], %acc;");
    line("{};", how);
    text += go_on + ":\n";
  } else {
    line("@{} {};", p, how);
  }
  if (!whole) left = true;
}

void Body::call(Place place) {
  const Callable& callee = s_.callable[dice_.roll(static_cast<std::uint32_t>(s_.callable.size()))];
  if (callee.constructs.contains("exit in a function")) {
    if (!leaves || (place.in_loop && !left)) return plain();
    left = true;
  }
  if (callee.constructs.contains("barrier in a function") && !place.uniform) return plain();
  const bool asks = std::any_of(callee.constructs.begin(), callee.constructs.end(),
                                [](const auto& one) { return one.first.find("ctaid") != std::string::npos; });
  const bool indirect = dice_.one_in(asks ? 30 : 3);
  used("call");
  if (indirect) used("indirect call");
  for (const auto& [construct, count] : callee.constructs) constructs[construct] += count;
  const std::string t = temporary(), result = v(), w = wide(), argument = v();
  text += "{\n";
  line(".param .b32 given;");
  line(".param .align 4 .b8 got[4];");
  line("st.param.b32 [given+0], {};", argument);
  if (indirect) {
    const std::string prototype = label();
    line("mov.u64 {}, {};", w, callee.name);
    text += fmt::format("{}: .callprototype (.param .align 4 .b8 _[4]) _ (.param .b32 _);\n", prototype);
    line("call (got), {}, (given), {};", w, prototype);
  } else {
    line("call{} (got), {}, (given);", dice_.one_in(2) ? ".uni" : "", callee.name);
  }
  line("ld.param.b32 {}, [got+0];", t);
  text += "}\n";
  line("add.s32 {}, {}, {};", result, result, t);
}

}  // namespace gangway::testing::ptx

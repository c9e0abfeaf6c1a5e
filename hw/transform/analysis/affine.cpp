#include "hw/transform/analysis/affine.hpp"

#include <algorithm>
#include <cstdlib>

namespace gangway::transform {
namespace {

constexpr int kMostNested = 200, kMostLookedAt = 100'000;

Affine symbol(std::string name) {
  Affine made;
  made.terms[std::move(name)] = 1;
  return made;
}

Affine constant(std::int64_t value) {
  Affine made;
  made.constant = value;
  return made;
}

std::optional<std::int64_t> as_constant(const std::optional<Affine>& value) {
  if (!value || !value->terms.empty() || value->bound != Affine::Bound::exact) return std::nullopt;
  return value->constant;
}

std::optional<Affine> product(const std::optional<Affine>& a, const std::optional<Affine>& b) {
  if (!a || !b) return std::nullopt;
  if (const auto factor = as_constant(b)) return times(*a, *factor);
  if (const auto factor = as_constant(a)) return times(*b, *factor);
  return std::nullopt;
}

// Whether a multiple may not fit into 32 bits, or a pointer does not. Numbers of threads are small; all else
// is below 2^31 at first.
bool may_wrap(const Affine& value) {
  constexpr std::int64_t kMostOfThreads = 1 << 20;
  return std::any_of(value.terms.begin(), value.terms.end(), [](const auto& term) {
    const auto& [symbol, coefficient] = term;
    const bool small = symbol.starts_with("%tid") || symbol.starts_with("%ntid") || symbol == "%laneid" ||
                       symbol == "%warpid";
    return symbol.starts_with(kPointer) || std::abs(coefficient) > (small ? kMostOfThreads : 1);
  });
}

// Of the types that end its name: 1 is the last.
bool has_64_bits_of(const Instruction& instruction, std::size_t from_end) {
  const auto& parts = instruction.modifiers;
  return parts.size() > from_end && parts[parts.size() - from_end].ends_with("64");
}

bool same(const Affine& a, const Affine& b) {
  return a.terms == b.terms && a.constant == b.constant && a.bound == b.bound;
}

std::optional<Affine> special(std::string_view name) {
  if (name == "%ctaid.y" || name == "%ctaid.z") return constant(0);
  if (name == "%nctaid.y" || name == "%nctaid.z") return constant(1);
  for (const std::string_view known : {"%ctaid.x", "%nctaid.x", "%tid.x", "%tid.y", "%tid.z", "%laneid",
                                       "%warpid", "%ntid.x", "%ntid.y", "%ntid.z"})
    if (name == known) return symbol(std::string(name));
  return std::nullopt;
}

}  // namespace

std::int64_t Affine::coefficient(const std::string& symbol) const {
  const auto found = terms.find(symbol);
  return found == terms.end() ? 0 : found->second;
}

std::string Affine::base() const {
  std::string found;
  for (const auto& [symbol, coefficient] : terms) {
    if (!symbol.starts_with(kPointer)) continue;
    if (coefficient != 1 || !found.empty()) return {};
    found = symbol;
  }
  return found;
}

std::optional<Affine> sum(const Affine& a, const Affine& b) {
  Affine made = a;
  if (a.bound == Affine::Bound::exact)
    made.bound = b.bound;
  else if (b.bound != Affine::Bound::exact && a.bound != b.bound)
    return std::nullopt;
  made.constant += b.constant;
  for (const auto& [symbol, coefficient] : b.terms)
    if ((made.terms[symbol] += coefficient) == 0) made.terms.erase(symbol);
  return made;
}

Affine times(const Affine& a, std::int64_t factor) {
  Affine made;
  if (factor == 0) return made;
  made.constant = a.constant * factor;
  for (const auto& [symbol, coefficient] : a.terms) made.terms[symbol] = coefficient * factor;
  made.bound = a.bound;
  if (factor < 0 && a.bound != Affine::Bound::exact)
    made.bound = a.bound == Affine::Bound::at_most ? Affine::Bound::at_least : Affine::Bound::at_most;
  return made;
}

std::optional<Affine> difference(const Affine& a, const Affine& b) { return sum(a, times(b, -1)); }

std::optional<Affine> AffineValues::of(std::string_view name) {
  if (const auto assumed = assumed_.find(name); assumed != assumed_.end()) return assumed->second;
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  const auto& writers = flow_.writers(name);
  if (writers.empty()) return special(name);
  if (depth_ == kMostNested || ++steps_ > kMostLookedAt) return std::nullopt;
  const bool assuming = !assumed_.empty();
  if (!assuming) known_[name] = std::nullopt;  // while it is being looked at: not known
  ++depth_;
  const std::optional<Affine> found = writers.size() == 1 ? by(writers.front()) : merged(name);
  --depth_;
  return assuming ? found : known_[name] = found;
}

// A variable: all that is assigned to it is one value, or itself with something added.
std::optional<Affine> AffineValues::merged(std::string_view name) {
  if (assumed_.size() > 4) return std::nullopt;
  const std::string own = "variable:" + std::string(name);
  std::optional<Affine> found;
  bool falls = false, rises = false;
  assumed_[name] = symbol(own);
  for (const std::uint32_t writer : flow_.writers(name)) {
    std::optional<Affine> value = flow_.instruction(writer).guard ? std::nullopt : by(writer);
    if (!value) {
      found.reset();
      falls = rises = true;
      break;
    }
    if (value->coefficient(own) == 1) {
      value->terms.erase(own);
      const bool at_most_0 =
          value->terms.empty() && value->constant <= 0 && value->bound != Affine::Bound::at_least;
      const bool at_least_0 =
          value->terms.empty() && value->constant >= 0 && value->bound != Affine::Bound::at_most;
      if (!at_most_0) rises = true;
      if (!at_least_0) falls = true;
    } else if (value->coefficient(own) != 0 || (found && !same(*found, *value))) {
      falls = rises = true;
    } else {
      found = value;
    }
  }
  assumed_.erase(name);
  if (!found || (falls && rises)) return std::nullopt;
  if (falls || rises) {
    const auto bound = falls ? Affine::Bound::at_most : Affine::Bound::at_least;
    if (found->bound != Affine::Bound::exact && found->bound != bound) return std::nullopt;
    found->bound = bound;
  }
  return found;
}

std::optional<Affine> AffineValues::of(Range operand) {
  const Tokens& tokens = flow_.module().tokens;
  if (operand.empty()) return std::nullopt;
  if (tokens[operand.first].is("[")) ++operand.first, --operand.last;
  std::optional<Affine> value = constant(0);
  bool negative = false;
  for (std::uint32_t at = operand.first; at < operand.last && value; ++at) {
    const Token& token = tokens[at];
    if (token.is("+") || token.is("-")) {
      if (token.is("-")) negative = !negative;
      continue;
    }
    std::optional<Affine> part;
    if (token.kind == TokenKind::number) {
      if (const auto read = integer_of(token)) part = constant(negative ? -*read : *read);
    } else if (token.kind == TokenKind::word) {
      part = of(token.text);
      if (part && negative) part = times(*part, -1);
    }
    negative = false;
    value = part ? sum(*value, *part) : std::nullopt;
  }
  return value;
}

bool has_64_bits(const Instruction& instruction) {
  return instruction.has("u64") || instruction.has("b64") || instruction.has("s64");
}

std::optional<std::string> parameter_at(const Flow& flow, Range operand, std::int64_t more) {
  const Tokens& tokens = flow.module().tokens;
  const std::uint32_t words = operand.last - operand.first;
  if (words != 3 && (words != 5 || !tokens[operand.first + 2].is("+"))) return std::nullopt;
  const auto offset = words == 3 ? std::optional<std::int64_t>(0) : integer_of(tokens[operand.first + 3]);
  const auto& declared = flow.function().declared;
  std::string_view name = tokens[operand.first + 1].text;
  if (const auto& writers = flow.writers(name); writers.size() == 1) {  // mov.b64 %rd1, kernel_param_2;
    const Instruction& writer = flow.instruction(writers.front());
    if (writer.name() == "mov" && writer.operands.size() == 2)
      name = word_of(flow.module(), writer.operands[1]);
  }
  const bool known = std::any_of(declared.begin(), declared.end(),
                                 [&](const ParameterDeclaration& one) { return one.name == name; });
  if (!known || !offset) return std::nullopt;
  return std::string(name) + (*offset + more == 0 ? "" : "+" + std::to_string(*offset + more));
}

std::optional<Affine> AffineValues::by(std::uint32_t statement) {
  const Instruction& instruction = flow_.instruction(statement);
  const std::string_view name = instruction.name();
  const auto& operands = instruction.operands;
  const auto operand = [&](std::size_t index) {
    return index < operands.size() ? of(operands[index]) : std::nullopt;
  };
  if (instruction.guard || operands.empty() || word_of(flow_.module(), operands[0]).empty())
    return std::nullopt;
  if (name == "ld" && instruction.has("param") && operands.size() > 1) {
    const auto parameter = parameter_at(flow_, operands[1]);
    if (!parameter) return std::nullopt;
    return symbol(has_64_bits(instruction) ? kPointer + *parameter : *parameter);
  }
  for (const std::string_view other :
       {"f16", "f32", "f64", "bf16", "f16x2", "u8", "s8", "b8", "u16", "s16", "b16", "sat"})
    if (instruction.has(other)) return std::nullopt;  // no numbers, or numbers cut off
  const auto fitting = [](std::optional<Affine> value) {
    return value && may_wrap(*value) ? std::nullopt : value;
  };
  if (name == "cvt" && has_64_bits_of(instruction, 1) && !has_64_bits_of(instruction, 2))
    return fitting(operand(1));
  if (name == "mov" || name == "cvta" || name == "cvt") return operand(1);
  if (name == "not" || name == "neg") {
    const auto value = operand(1);
    if (!value) return std::nullopt;
    return name == "neg" ? times(*value, -1) : sum(times(*value, -1), constant(-1));
  }
  if (name == "add" || name == "sub") {
    if (instruction.has("cc") || instruction.has("sat")) return std::nullopt;
    const auto a = operand(1), b = operand(2);
    if (!a || !b) return std::nullopt;
    return name == "add" ? sum(*a, *b) : difference(*a, *b);
  }
  const bool wide = has_64_bits(instruction) || instruction.has("wide");
  const auto made = [&](std::optional<Affine> value) { return wide ? value : fitting(value); };
  if (name == "mul" && !instruction.has("hi")) return made(product(operand(1), operand(2)));
  if (name == "mad" && !instruction.has("hi") && !instruction.has("cc")) {
    const auto a = made(product(operand(1), operand(2))), b = operand(3);
    return a && b ? sum(*a, *b) : std::nullopt;
  }
  if (name == "shl") {
    const auto places = as_constant(operand(2));
    const auto value = operand(1);
    if (!value || !places || *places < 0 || *places > 30) return std::nullopt;
    return made(times(*value, std::int64_t{1} << *places));
  }
  return std::nullopt;
}

}  // namespace gangway::transform

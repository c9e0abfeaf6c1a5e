#include "hw/transform/analysis/arrays.hpp"

#include <algorithm>
#include <limits>

#include "hw/transform/analysis/affine.hpp"

namespace gangway::transform {
namespace {

constexpr std::size_t kDeepest = 200;
constexpr int kMostSteps = 10'000;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Multiples of a pointer are none, nor is what it has above a boundary.
bool makes_an_index(const Module& module, const Instruction& instruction) {
  const std::string_view name = instruction.name();
  if (name == "and" && instruction.operands.size() == 3) {
    const auto mask = integer_of(module, instruction.operands[2]);
    return mask && *mask >= 0 && *mask <= std::numeric_limits<std::uint32_t>::max();
  }
  return is_one_of(name, {"mul", "mul24", "shl", "shr", "div", "rem", "popc", "clz", "bfind", "bfe", "brev",
                          "setp", "set"});
}

}  // namespace

std::optional<std::string> Arrays::of(Range address) {
  open_.clear();
  steps_ = 0;
  const Origin found = summed(address);
  return found.kind == Origin::Kind::array ? std::optional(found.array) : std::nullopt;
}

Arrays::Origin Arrays::sum(const Origin& a, const Origin& b) {
  if (a.kind == Origin::Kind::index) return b;
  if (b.kind == Origin::Kind::index) return a;
  return {};
}

Arrays::Origin Arrays::either(const Origin& a, const Origin& b) {
  if (a.kind == Origin::Kind::open) return b;
  if (b.kind == Origin::Kind::open) return a;
  return a.kind == b.kind && a.array == b.array ? a : Origin{};
}

Arrays::Origin Arrays::of(std::string_view name) {
  const auto& writers = flow_.writers(name);
  if (writers.empty()) return without_writers(name);
  if (std::find(open_.begin(), open_.end(), name) != open_.end()) return {Origin::Kind::open, {}};
  if (open_.size() > kDeepest || ++steps_ > kMostSteps) return {};
  open_.push_back(name);
  Origin found{Origin::Kind::open, {}};
  for (const std::uint32_t writer : writers) found = either(found, by(writer, name));
  open_.pop_back();
  return found;
}

Arrays::Origin Arrays::without_writers(std::string_view name) const {
  if (!flow_.function().entry) return {};  // possibly an argument
  if (name.front() == '%') return {Origin::Kind::index, {}};
  return {Origin::Kind::array, "variable:" + std::string(name)};
}

Arrays::Origin Arrays::by(std::uint32_t statement, std::string_view written) {
  const Instruction& instruction = flow_.instruction(statement);
  const std::string_view name = instruction.name();
  const auto& operands = instruction.operands;
  if (is_one_of(name, {"call", "alloca", "mapa"})) return {};
  if (is_one_of(name, {"ld", "ldu", "atom"})) return loaded(instruction, written);
  if (makes_an_index(flow_.module(), instruction)) return {Origin::Kind::index, {}};
  if (operands.size() > 3 && name == "mad") return summed(operands[3]);
  if (operands.size() > 2 && is_one_of(name, {"selp", "slct", "min", "max"}))
    return either(summed(operands[1]), summed(operands[2]));
  Origin found{Origin::Kind::index, {}};
  for (std::size_t at = 1; at < operands.size(); ++at) found = sum(found, summed(operands[at]));
  return found;
}

Arrays::Origin Arrays::loaded(const Instruction& instruction, std::string_view to) const {
  if (!has_64_bits(instruction)) return {Origin::Kind::index, {}};
  if (instruction.name() == "ld" && instruction.has("global")) return {Origin::Kind::array, kFromMemory};
  if (instruction.name() != "ld" || !instruction.has("param") || instruction.operands.size() < 2) return {};
  const Range results = instruction.operands[0];
  std::int64_t offset = 0;
  for (std::uint32_t at = results.first; at < results.last && !flow_.module().tokens[at].is(to); ++at)
    if (flow_.module().tokens[at].is(",")) offset += 8;
  const auto parameter = parameter_at(flow_, instruction.operands[1], offset);
  return parameter ? Origin{Origin::Kind::array, kPointer + *parameter} : Origin{};
}

Arrays::Origin Arrays::summed(Range operand) {
  Origin found{Origin::Kind::index, {}};
  for (std::uint32_t at = operand.first; at < operand.last; ++at) {
    const Token& token = flow_.module().tokens[at];
    if (token.kind == TokenKind::word) found = sum(found, of(token.text));
  }
  return found;
}

}  // namespace gangway::transform

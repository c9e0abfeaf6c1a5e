#include "hw/transform/analysis/tickets.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "hw/transform/analysis/affine.hpp"
#include "hw/transform/analysis/calls.hpp"

namespace gangway::transform {
namespace {

constexpr int kMostMoves = 16;

// The bits of a type such as u32; 1 of pred. 0 if it is none.
std::uint32_t bits_of_type(std::string_view type) {
  if (type == "pred") return 1;
  std::uint32_t bits = 0;
  const std::size_t digits = type.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  const char* const end = type.data() + type.size();
  return std::from_chars(type.data() + digits, end, bits).ptr == end ? bits : 0;
}

// Null if a register is written otherwise, too.
const Instruction* only_move_to(const Flow& flow, std::string_view name) {
  const auto& writers = flow.writers(name);
  if (writers.size() != 1) return nullptr;
  const Instruction& writer = flow.instruction(writers.front());
  return writer.name() == "mov" && writer.operands.size() == 2 ? &writer : nullptr;
}

// Of an operand that is a number, or a register that only one instruction sets, to a number.
std::optional<std::int64_t> value_of(const Flow& flow, Range operand) {
  if (const auto value = integer_of(flow.module(), operand)) return value;
  const Instruction* const writer = only_move_to(flow, word_of(flow.module(), operand));
  return writer != nullptr ? integer_of(flow.module(), writer->operands[1]) : std::nullopt;
}

}  // namespace

bool is_atomic(const Instruction& instruction) {
  return (instruction.name() == "atom" || instruction.name() == "red") && !within_block(instruction);
}

std::optional<std::int64_t> step_of(const Flow& flow, const Instruction& instruction) {
  const std::size_t operand = instruction.name() == "atom" ? 2 : 1;
  if (instruction.operands.size() <= operand) return std::nullopt;
  const auto value = value_of(flow, instruction.operands[operand]);
  const bool up = instruction.has("inc");
  if (up || instruction.has("dec")) {
    if (!value || static_cast<std::uint32_t>(*value) != 0xffffffff) return std::nullopt;
    return up ? 1 : -1;
  }
  if (!instruction.has("add") || !value || has_64_bits(instruction))
    return instruction.has("add") ? value : std::nullopt;
  return static_cast<std::int32_t>(*value);
}

std::string_view origin_of(const Flow& flow, std::string_view name) {
  for (int moves = 0; moves < kMostMoves; ++moves) {
    const Instruction* const move = only_move_to(flow, name);
    const std::string_view from = move != nullptr ? word_of(flow.module(), move->operands[1]) : "";
    if (from.empty()) break;
    name = from;
  }
  return name;
}

bool reads_at_number(const Instruction& instruction) {
  return is_load(instruction) || is_atomic(instruction) || instruction.name() == "cp" ||
         (instruction.name() == "ld" && (instruction.has("global") || instruction.has("const")));
}

bool keeps_whole(const Module& module, const Instruction& instruction, std::int64_t step) {
  static constexpr std::string_view kAlways[] = {"add", "sub", "neg",  "not", "selp", "slct", "setp",
                                                 "set", "min", "max",  "abs", "div",  "fma",  "shfl",
                                                 "bra", "brx", "cvta", "ret", "bar",  "exit", "barrier"};
  const std::string_view name = instruction.name();
  const auto& operands = instruction.operands;
  const std::uint32_t bits = bits_of_type(instruction.modifiers.back());
  if (reads_at_number(instruction)) return true;
  if (bits != 0 && bits < 32) return bits == 1 || name == "setp";
  if (std::find(std::begin(kAlways), std::end(kAlways), name) != std::end(kAlways)) return true;
  if (name == "ld" || name == "st" || name == "atom" || name == "red") return true;
  if (name == "mov") return !operands.empty() && !module.tokens[operands[0].first].is("{");  // not in parts
  if (name == "cvt") {
    const std::string_view to = instruction.modifiers[instruction.modifiers.size() - 2];
    return bits_of_type(to) >= bits || to == "f32";
  }
  if ((name != "mul" && name != "mad" && name != "shl") || instruction.has("hi") || operands.size() < 3)
    return false;
  for (std::size_t factor = 1; factor < 3; ++factor) {
    const auto value = integer_of(module, operands[factor]);
    if (!value || (name == "shl" && (factor == 1 || *value < 0 || *value > 62))) continue;
    const std::uint32_t width = instruction.has("wide") ? 64 : bits;
    const double product =
        std::abs(static_cast<double>(step) *
                 (name == "shl" ? std::ldexp(1.0, static_cast<int>(*value)) : static_cast<double>(*value)));
    if (product == 0 || product >= std::ldexp(1.0, static_cast<int>(width) - 1)) return false;
  }
  return true;
}

}  // namespace gangway::transform

#include "hw/transform/analysis/calls.hpp"

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

std::optional<Range> called(const Module& module, const Instruction& call) {
  for (const Range operand : call.operands)
    if (!module.tokens[operand.first].is("(")) return operand;
  return std::nullopt;
}

const Function* callee(const Module& module, const Instruction& call) {
  const auto operand = called(module, call);
  if (!operand) return nullptr;
  std::string_view name = word_of(module, *operand);
  for (const auto& [alias, real] : module.aliases)
    if (alias == name) name = real;
  const Function* found = nullptr;
  for (const Function& function : module.functions)
    if (function.name == name && (found == nullptr || function.defined)) found = &function;
  return found;
}

}  // namespace gangway::transform

#include "hw/transform/analysis/calls.hpp"

#include <algorithm>
#include <set>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {
namespace {

bool comes_to(const Module& module, const Instruction& call,
              const std::function<bool(const Instruction&)>& such, std::set<const Function*>& seen) {
  const Function* const function = callee(module, call);
  if (function == nullptr) return true;
  if (!function->defined || !seen.insert(function).second) return false;
  return std::any_of(function->statements.begin(), function->statements.end(), [&](const Statement& one) {
    if (one.kind != StatementKind::instruction) return false;
    return such(one.instruction) ||
           (one.instruction.name() == "call" && comes_to(module, one.instruction, such, seen));
  });
}

}  // namespace

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
  const auto found = module.function_of_name.find(name);
  return found != module.function_of_name.end() ? &module.functions[found->second] : nullptr;
}

bool may_come_to(const Module& module, const Instruction& call,
                 const std::function<bool(const Instruction&)>& such) {
  std::set<const Function*> seen;
  return comes_to(module, call, such, seen);
}

}  // namespace gangway::transform

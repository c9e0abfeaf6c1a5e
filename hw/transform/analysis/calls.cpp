#include "hw/transform/analysis/calls.hpp"

#include <algorithm>
#include <set>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {
namespace {

bool comes_to(const Module& module, const Instruction& call,
              const std::function<bool(const Instruction&)>& such, std::set<const Function*>& seen) {
  std::vector<const Function*> functions{callee(module, call)};
  if (functions.front() == nullptr) functions = called_by_address(module);
  if (functions.empty()) return true;
  return std::any_of(functions.begin(), functions.end(), [&](const Function* function) {
    if (!function->defined || !seen.insert(function).second) return false;
    return std::any_of(function->statements.begin(), function->statements.end(), [&](const Statement& one) {
      if (one.kind != StatementKind::instruction) return false;
      return such(one.instruction) ||
             (one.instruction.name() == "call" && comes_to(module, one.instruction, such, seen));
    });
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
  // Behind the target of an indirect call is what it may be; a register may be named like a function.
  const Range last = operand ? call.operands.back() : Range{};
  if (!operand || (last.first != operand->first && !module.tokens[last.first].is("("))) return nullptr;
  std::string_view name = word_of(module, *operand);
  for (const auto& [alias, real] : module.aliases)
    if (alias == name) name = real;
  const auto found = module.function_of_name.find(name);
  return found != module.function_of_name.end() ? &module.functions[found->second] : nullptr;
}

std::vector<const Function*> called_by_address(const Module& module) {
  std::vector<const Function*> found;
  if (module.relocatable) return found;
  for (const std::size_t function : module.addressed) found.push_back(&module.functions[function]);
  return found;
}

bool may_come_to(const Module& module, const Instruction& call,
                 const std::function<bool(const Instruction&)>& such) {
  std::set<const Function*> seen;
  return comes_to(module, call, such, seen);
}

}  // namespace gangway::transform

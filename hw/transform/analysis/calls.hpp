// Targets of call instructions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "hw/transform/ptx/ptx_module.hpp"

namespace gangway::transform {

// The called function, with aliases resolved. Null for an indirect call, or if the module lacks the function.
const Function* callee(const Module& module, const Instruction& call);
// The operand that names the call target.
std::optional<Range> called(const Module& module, const Instruction& call);
// The functions that an indirect call may reach: all whose address is taken. None: only those of others, as
// in a module that is linked with others.
std::vector<const Function*> called_by_address(const Module& module);
// Whether the call can reach an instruction for which `such` holds. One that may reach others' is assumed to.
bool may_come_to(const Module& module, const Instruction& call,
                 const std::function<bool(const Instruction&)>& such);

}  // namespace gangway::transform

// Who is called.
#pragma once

#include <functional>
#include <optional>

#include "hw/transform/ptx/ptx_module.hpp"

namespace gangway::transform {

// The function that a call names, aliases resolved; null: by address, or the module has no such function.
const Function* callee(const Module& module, const Instruction& call);
// The operand that says what is called.
std::optional<Range> called(const Module& module, const Instruction& call);
// Whether what a call calls has, or may call what has, such an instruction. It may where the call is by
// address.
bool may_come_to(const Module& module, const Instruction& call,
                 const std::function<bool(const Instruction&)>& such);

}  // namespace gangway::transform

// Who is called.
#pragma once

#include <optional>

#include "hw/transform/ptx/ptx_module.hpp"

namespace gangway::transform {

// The function that a call names, aliases resolved; null: by address, or the module has no such function.
const Function* callee(const Module& module, const Instruction& call);
// The operand that says what is called.
std::optional<Range> called(const Module& module, const Instruction& call);

}  // namespace gangway::transform

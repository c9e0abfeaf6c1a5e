// Small kernels as PTX, and which forms they take.
#pragma once

#include <fmt/format.h>

#include <string>

#include "hw/transform/rewrite.hpp"

namespace gangway::testing {

// The body's first line is line 6.
inline std::string kernel_of(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n" +
         body + "}\n";
}

inline const std::string kRegisters =
    ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;"
    " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x;\n";

inline std::string forms_of(const transform::Rewritten& rewritten) {
  std::string found = rewritten.unusable;
  for (const transform::KernelForms& kernel : rewritten.kernels)
    for (const transform::Form& form : kernel.forms) found += (found.empty() ? "" : " ") + form.form;
  return found;
}

inline std::string forms_of(const std::string& body) {
  return forms_of(transform::rewrite(kernel_of(kRegisters + body)));
}

// "line 7: instruction: reason" of a form that is refused.
inline std::string refusal_of(const std::string& body, const std::string& form) {
  const transform::Rewritten rewritten = transform::rewrite(kernel_of(kRegisters + body));
  for (const transform::Refusal& refusal : rewritten.kernels.at(0).refused)
    if (refusal.form == form)
      return fmt::format("line {}: {}: {}", refusal.line, refusal.instruction, refusal.reason);
  return "taken";
}

inline const std::string kAll = "slice prologue loop";
inline const std::string kWaits = "it may wait for another block, which may not have been launched";

}  // namespace gangway::testing

// What is known of the kernels of one module.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "hw/transform/images/image.hpp"
#include "hw/transform/inspect/inspection.hpp"
#include "hw/transform/prepare/module_work.hpp"

namespace gangway::transform {

// What stands for "no form", in the order in which forms are listed.
inline constexpr const char* kForms[] = {"slice", "prologue", "loop"};

struct ModuleRows {
  std::vector<InspectedKernel> kernels;
  std::vector<std::string> notes;
  bool linked = true;  // false: pieces of a program, which also has them linked or is yet to be linked
};

// `assembler` and `cache` may be null. `pieces`: kernels of relocatable PTX anywhere in the file.
ModuleRows rows_of(const Image& image, const ImageModule& module, Architecture gpu,
                   const std::set<std::string>& pieces, const Assembler* assembler, SharedCache* cache,
                   const std::atomic<bool>& interrupted);

// A kernel that takes no form, for one reason.
InspectedKernel formless_kernel(const std::string& name, const std::string& reason);

// "waits for other blocks (line 7: ld.volatile.global.u32 %r1, [%rd1];)".
std::string refusal_text(const Refusal& refusal);

// "scale(float*, float, int)"; as it is where it is no mangled name.
std::string demangled(const std::string& name);

}  // namespace gangway::transform

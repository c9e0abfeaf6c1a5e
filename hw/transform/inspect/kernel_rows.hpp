// What `inspect` reports of one module's kernels.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "hw/transform/images/image.hpp"
#include "hw/transform/inspect/inspection.hpp"
#include "hw/transform/prepare/module_work.hpp"

namespace gangway::transform {

// All forms, in listing order.
inline constexpr const char* kForms[] = {"slice", "prologue", "loop"};

struct ModuleRows {
  std::vector<InspectedKernel> kernels;
  std::vector<std::string> notes;
  bool linked = true;  // false: relocatable modules, which are linked elsewhere or not yet
};

// `assembler` and `cache` may be null. `pieces`: kernels of all relocatable PTX in the file.
ModuleRows rows_of(const Image& image, const ImageModule& module, Architecture gpu,
                   const std::set<std::string>& pieces, const Assembler* assembler, SharedCache* cache,
                   const std::atomic<bool>& interrupted);

// A kernel refused by every form for the same reason.
InspectedKernel formless_kernel(const std::string& name, const std::string& reason);

// "waits for other blocks (line 7: ld.volatile.global.u32 %r1, [%rd1];)".
std::string refusal_text(const Refusal& refusal);

// "scale(float*, float, int)"; unchanged if the name is not mangled.
std::string demangled(const std::string& name);

}  // namespace gangway::transform

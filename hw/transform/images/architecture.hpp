// GPU architectures as PTX names them, and which PTX they can run.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::transform {

struct Architecture {
  unsigned number = 0;  // 90 in sm_90a
  char suffix = 0;      // 'a': this GPU only; 'f': its family; 0: all later GPUs

  std::string name() const;  // sm_90a
  friend auto operator<=>(const Architecture&, const Architecture&) = default;
};

// Reads sm_90a, compute_90a or 90a. None for anything else.
std::optional<Architecture> read_architecture(std::string_view text);

// Whether a GPU can run PTX of a target. A GPU has every feature of its number: sm_90 runs PTX of sm_90a.
// Source: PTX ISA 9.0, 11.1.2 (.target).
bool runs_on(Architecture target, Architecture gpu);

// The architecture to compile for, given PTX of `target` and a GPU that can run it.
Architecture compiled_for(Architecture target, Architecture gpu);

// The value of --arch. InputError if invalid.
Architecture gpu_option(const std::string& text);

// The GPU that commands assume by default: sm_90.
inline constexpr Architecture kUsualGpu{90, 0};

}  // namespace gangway::transform

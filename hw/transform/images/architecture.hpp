// What GPUs are called in PTX, and which PTX they can run.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::transform {

struct Architecture {
  unsigned number = 0;  // 90 of sm_90a
  char suffix = 0;      // 'a': of this GPU alone; 'f': of its family; 0: of all from here on

  std::string name() const;  // sm_90a
  friend auto operator<=>(const Architecture&, const Architecture&) = default;
};

// sm_90a, compute_90a or 90a; none: it is no architecture.
std::optional<Architecture> read_architecture(std::string_view text);

// Whether a GPU can run PTX of that target. A GPU is all that carries its number: sm_90 runs PTX of sm_90a.
// Source: PTX ISA 9.0, 11.1.2 (.target).
bool runs_on(Architecture target, Architecture gpu);

// What the compiler has to be told to compile PTX of that target for a GPU that can run it.
Architecture compiled_for(Architecture target, Architecture gpu);

// As --arch has it. InputError where it is none.
Architecture gpu_option(const std::string& text);

// What commands take a GPU to be unless they are told: sm_90.
inline constexpr Architecture kUsualGpu{90, 0};

}  // namespace gangway::transform

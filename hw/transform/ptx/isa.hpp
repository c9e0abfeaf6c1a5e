// What PTX has. The source is NVIDIA's PTX ISA 9.0, that of CUDA 13.0.
#pragma once

#include <string_view>
#include <utility>

#include "hw/transform/ptx/ptx_module.hpp"

namespace gangway::transform {

// The latest version (major, minor) whose instructions and registers are known.
inline constexpr std::pair<std::uint32_t, std::uint32_t> kLatestVersion{9, 0};

// Whether an instruction's name, the part before the first dot, is known. Modifiers are not looked at.
bool is_known_instruction(std::string_view name);

// Whether it is a special register, or a component of one: %ctaid.x.
bool is_special_register(std::string_view name);

}  // namespace gangway::transform

// A GPU's UUID.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gangway::live {

using GpuUuid = std::array<unsigned char, 16>;  // zeros: not known

// "GPU-01234567-89ab-cdef-0123-456789abcdef", as CUDA_VISIBLE_DEVICES has it; empty for zeros.
std::string text_of(const GpuUuid& uuid);

inline constexpr GpuUuid kNoGpu{};
inline constexpr std::size_t kGpuText = 48;  // bytes for such a text

}  // namespace gangway::live

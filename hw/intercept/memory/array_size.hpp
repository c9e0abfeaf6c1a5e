// How much memory the driver takes for an array, at least.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdint>

namespace gangway::intercept {

// Bytes of the first `levels` levels, as far as they are there; UINT64_MAX: more than can be counted. 0: no
// memory is taken yet.
std::uint64_t array_size(const CUDA_ARRAY3D_DESCRIPTOR& array, unsigned levels = 1);

}  // namespace gangway::intercept

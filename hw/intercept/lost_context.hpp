// Whether a fault has ended a context of this process, as far as the driver has told the program: from then
// on all calls in that context return its error.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <atomic>

namespace gangway::intercept {

inline std::atomic<bool> a_context_is_lost{false};

// `result`: what the driver answered to a call.
inline void note_result(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
      a_context_is_lost.store(true, std::memory_order_relaxed);
      break;
    default:
      break;
  }
}

}  // namespace gangway::intercept

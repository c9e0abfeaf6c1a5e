// The real driver's functions that forms need.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

namespace gangway::intercept {

#define GANGWAY_REAL_CALLS(X)                    \
  X(cuCtxGetCurrent)                             \
  X(cuCtxPushCurrent_v2)                         \
  X(cuCtxPopCurrent_v2)                          \
  X(cuCtxGetDevice)                              \
  X(cuCtxGetStreamPriorityRange)                 \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGetAttribute)                        \
  X(cuThreadExchangeStreamCaptureMode)           \
  X(cuMemAlloc_v2)                               \
  X(cuMemFree_v2)                                \
  X(cuMemHostAlloc)                              \
  X(cuMemFreeHost)                               \
  X(cuMemHostGetDevicePointer_v2)                \
  X(cuMemsetD8Async)                             \
  X(cuPointerGetAttribute)                       \
  X(cuStreamCreateWithPriority)                  \
  X(cuStreamDestroy_v2)                          \
  X(cuStreamSynchronize)                         \
  X(cuStreamQuery)                               \
  X(cuStreamGetFlags)                            \
  X(cuStreamGetCtx)                              \
  X(cuStreamWaitEvent)                           \
  X(cuStreamWaitValue32_v2)                      \
  X(cuStreamBatchMemOp_v2)                       \
  X(cuEventCreate)                               \
  X(cuEventDestroy_v2)                           \
  X(cuEventRecord)                               \
  X(cuEventQuery)                                \
  X(cuEventElapsedTime)                          \
  X(cuLaunchKernel)                              \
  X(cuLaunchKernelEx)                            \
  X(cuModuleLoadData)                            \
  X(cuModuleGetFunction)                         \
  X(cuModuleUnload)                              \
  X(cuLibraryLoadData)                           \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLibraryGetKernel)                          \
  X(cuKernelGetFunction)                         \
  X(cuFuncSetAttribute)                          \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetCacheConfig)                        \
  X(cuKernelSetAttribute)                        \
  X(cuKernelGetAttribute)                        \
  X(cuKernelSetCacheConfig)

// By the names that the library exports; null where this driver lacks one.
struct RealCalls {
#define GANGWAY_REAL_CALL(name) decltype(&::name) name = nullptr;
  GANGWAY_REAL_CALLS(GANGWAY_REAL_CALL)
#undef GANGWAY_REAL_CALL
  bool all() const;  // whether this driver has all of them
};
extern RealCalls cuda;

void find_real_calls(void* library);

// While one is alive, its thread may make calls that a capture in another thread forbids.
class RelaxedCapture {
 public:
  RelaxedCapture() { cuda.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cuda.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// While one is alive, the context is current in its thread.
class CurrentContext {
 public:
  explicit CurrentContext(CUcontext context) {
    CUcontext now = nullptr;
    cuda.cuCtxGetCurrent(&now);
    pushed_ = now != context && cuda.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
    is_ = pushed_ || now == context;
  }
  ~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) cuda.cuCtxPopCurrent_v2(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  bool is() const { return is_; }

 private:
  bool pushed_ = false, is_ = false;
};

}  // namespace gangway::intercept

// Memory: allocations, copies, sets, variables.
#include <cstring>

#include "tests/runtime/registered.hpp"

using namespace gangway::runtime;

#define READY                                                                                  \
  do {                                                                                         \
    if (const CUresult not_ready = ready(); not_ready != CUDA_SUCCESS) return told(not_ready); \
  } while (false)

namespace {

CUdeviceptr at(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

CUresult copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      std::memcpy(to, from, bytes);
      return CUDA_SUCCESS;
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoD(at(to), from, bytes);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoH(to, at(from), bytes);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoD(at(to), at(from), bytes);
    default:
      return cuMemcpy(at(to), at(from), bytes);
  }
}

CUresult copy_later(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoDAsync(at(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoHAsync(to, at(from), bytes, stream);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoDAsync(at(to), at(from), bytes, stream);
    default:
      return cuMemcpyAsync(at(to), at(from), bytes, stream);
  }
}

CUDA_MEMCPY2D rectangle(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                        std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D made{};
  const bool from_host = kind == cudaMemcpyHostToDevice, to_host = kind == cudaMemcpyDeviceToHost;
  made.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  made.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  made.srcHost = from;
  made.srcDevice = at(from);
  made.dstHost = to;
  made.dstDevice = at(to);
  made.srcPitch = from_pitch;
  made.dstPitch = to_pitch;
  made.WidthInBytes = width;
  made.Height = height;
  return made;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** made, size_t bytes) {
  READY;
  if (bytes == 0) return *made = nullptr, cudaSuccess;
  return told(cuMemAlloc(reinterpret_cast<CUdeviceptr*>(made), bytes));
}
cudaError_t cudaMallocPitch(void** made, size_t* pitch, size_t width, size_t height) {
  READY;
  return told(cuMemAllocPitch(reinterpret_cast<CUdeviceptr*>(made), pitch, width, height, 16));
}
cudaError_t cudaMallocManaged(void** made, size_t bytes, unsigned flags) {
  READY;
  return told(cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(made), bytes, flags));
}
cudaError_t cudaMallocAsync(void** made, size_t bytes, cudaStream_t stream) {
  READY;
  return told(cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(made), bytes, stream));
}
cudaError_t cudaFree(void* address) {
  READY;
  return address == nullptr ? cudaSuccess : told(cuMemFree(at(address)));
}
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  READY;
  return told(cuMemFreeAsync(at(address), stream));
}
cudaError_t cudaHostAlloc(void** made, size_t bytes, unsigned flags) {
  READY;
  return told(cuMemHostAlloc(made, bytes, flags));
}
cudaError_t cudaMallocHost(void** made, size_t bytes) { return cudaHostAlloc(made, bytes, 0); }
cudaError_t cudaFreeHost(void* address) {
  READY;
  return address == nullptr ? cudaSuccess : told(cuMemFreeHost(address));
}
cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned flags) {
  READY;
  return told(cuMemHostRegister(address, bytes, flags));
}
cudaError_t cudaHostUnregister(void* address) {
  READY;
  return told(cuMemHostUnregister(address));
}
cudaError_t cudaHostGetDevicePointer(void** found, void* address, unsigned flags) {
  READY;
  return told(cuMemHostGetDevicePointer(reinterpret_cast<CUdeviceptr*>(found), address, flags));
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  READY;
  return told(cuMemGetInfo(free, total));
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  READY;
  return told(copy(to, from, bytes, kind));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  READY;
  return told(copy_later(to, from, bytes, kind, stream));
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  READY;
  const CUDA_MEMCPY2D made = rectangle(to, to_pitch, from, from_pitch, width, height, kind);
  return told(cuMemcpy2D(&made));
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  READY;
  const CUDA_MEMCPY2D made = rectangle(to, to_pitch, from, from_pitch, width, height, kind);
  return told(cuMemcpy2DAsync(&made, stream));
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  READY;
  return told(cuMemsetD8(at(to), static_cast<unsigned char>(value), bytes));
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  READY;
  return told(cuMemsetD8Async(at(to), static_cast<unsigned char>(value), bytes, stream));
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  READY;
  return told(cuMemsetD2D8(at(to), pitch, static_cast<unsigned char>(value), width, height));
}

cudaError_t cudaGetSymbolAddress(void** found, const void* shadow) {
  std::size_t bytes = 0;
  return told(variable_at(shadow, *reinterpret_cast<CUdeviceptr*>(found), bytes));
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* shadow) {
  CUdeviceptr address = 0;
  return told(variable_at(shadow, address, *bytes));
}
cudaError_t cudaMemcpyToSymbol(const void* shadow, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  if (const CUresult result = variable_at(shadow, address, size); result != CUDA_SUCCESS) return told(result);
  return told(copy(reinterpret_cast<void*>(address + offset), from, bytes, kind));
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* shadow, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  if (const CUresult result = variable_at(shadow, address, size); result != CUDA_SUCCESS) return told(result);
  return told(copy(to, reinterpret_cast<const void*>(address + offset), bytes, kind));
}

}  // extern "C"

// Launches, functions and their attributes.
#include <vector>

#include "tests/runtime/registered.hpp"

using namespace gangway::runtime;

namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> pushed;

CUfunction function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

CUresult launch(CUkernel kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                cudaStream_t stream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  return cuLaunchKernel(function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                        static_cast<unsigned>(shared), stream, arguments, nullptr);
}

int attribute_of(CUkernel kernel, CUfunction_attribute attribute) {
  int value = 0;
  CUdevice its = 0;
  cuDeviceGet(&its, device_of_thread());
  cuKernelGetAttribute(&value, attribute, kernel, its);
  return value;
}

}  // namespace

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  pushed.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (pushed.empty()) return cudaErrorMissingConfiguration;
  const Configuration last = pushed.back();
  pushed.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  CUkernel found = nullptr;
  const CUresult result = kernel_at(stub, found);
  *kernel = reinterpret_cast<cudaKernel_t>(found);
  return told(result);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return told(launch(reinterpret_cast<CUkernel>(kernel), grid, block, arguments, shared, stream));
}

cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  CUkernel kernel = nullptr;
  const CUresult result = kernel_at(stub, kernel);
  return told(result != CUDA_SUCCESS ? result : launch(kernel, grid, block, arguments, shared, stream));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* stub, void** arguments) {
  CUkernel kernel = nullptr;
  if (const CUresult result = kernel_at(stub, kernel); result != CUDA_SUCCESS) return told(result);
  CUlaunchConfig its{};
  its.gridDimX = config->gridDim.x;
  its.gridDimY = config->gridDim.y;
  its.gridDimZ = config->gridDim.z;
  its.blockDimX = config->blockDim.x;
  its.blockDimY = config->blockDim.y;
  its.blockDimZ = config->blockDim.z;
  its.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  its.hStream = config->stream;
  its.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);  // laid out alike
  its.numAttrs = config->numAttrs;
  return told(cuLaunchKernelEx(&its, function(kernel), arguments, nullptr));
}

cudaError_t cudaLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  CUkernel kernel = nullptr;
  if (const CUresult result = kernel_at(stub, kernel); result != CUDA_SUCCESS) return told(result);
  return told(cuLaunchCooperativeKernel(function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                        static_cast<unsigned>(shared), stream, arguments));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return told(result);
  return told(cuLaunchHostFunc(stream, call, data));
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* found, const void* stub) {
  CUkernel kernel = nullptr;
  CUresult result = kernel_at(stub, kernel);
  if (result == CUDA_SUCCESS) result = cuKernelGetFunction(found, kernel);
  return told(result);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* found, const void* stub) {
  CUkernel kernel = nullptr;
  if (const CUresult result = kernel_at(stub, kernel); result != CUDA_SUCCESS) return told(result);
  *found = {};
  found->numRegs = attribute_of(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS);
  found->maxThreadsPerBlock = attribute_of(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  found->ptxVersion = attribute_of(kernel, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  found->binaryVersion = attribute_of(kernel, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  found->maxDynamicSharedSizeBytes = attribute_of(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  found->sharedSizeBytes =
      static_cast<std::size_t>(attribute_of(kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  found->localSizeBytes = static_cast<std::size_t>(attribute_of(kernel, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* stub, cudaFuncAttribute attribute, int value) {
  CUkernel kernel = nullptr;
  CUdevice its = 0;
  CUresult result = kernel_at(stub, kernel);
  if (result == CUDA_SUCCESS) result = cuDeviceGet(&its, device_of_thread());
  if (result == CUDA_SUCCESS)
    result = cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value, kernel, its);
  return told(result);
}

cudaError_t cudaFuncSetCacheConfig(const void* stub, cudaFuncCache config) {
  CUkernel kernel = nullptr;
  CUdevice its = 0;
  CUresult result = kernel_at(stub, kernel);
  if (result == CUDA_SUCCESS) result = cuDeviceGet(&its, device_of_thread());
  if (result == CUDA_SUCCESS) result = cuKernelSetCacheConfig(kernel, static_cast<CUfunc_cache>(config), its);
  return told(result);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* stub, int threads,
                                                                   size_t shared, unsigned flags) {
  CUkernel kernel = nullptr;
  const CUresult result = kernel_at(stub, kernel);
  if (result != CUDA_SUCCESS) return told(result);
  return told(
      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function(kernel), threads, shared, flags));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* stub, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, stub, threads, shared, 0);
}

}  // extern "C"

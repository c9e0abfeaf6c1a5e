// What nvcc's code tells the runtime before main(): modules, kernels and variables, by their addresses in the
// program. They reach the driver when they are first used, as libraries, which is how CUDA 13 loads them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace gangway::runtime {

// The thread has a context: the primary one of its device. An error otherwise.
CUresult ready();
int device_of_thread();
CUresult choose_device(int device);

// The kernel whose stub is at that address. CUDA_ERROR_INVALID_HANDLE: none is.
CUresult kernel_at(const void* stub, CUkernel& kernel);
// A variable by the address of its shadow. CUDA_ERROR_NOT_FOUND: none is.
CUresult variable_at(const void* shadow, CUdeviceptr& address, std::size_t& bytes);

// Keeps a failure for cudaGetLastError() of the thread.
cudaError_t told(CUresult result);
cudaError_t last_error(bool forget);

}  // namespace gangway::runtime

// Memory that goes with its context.
#include "tests/live/memory_client/modes.hpp"

namespace gangway::memory_client {
namespace {

// So often all that memory, which nobody frees, and then an end of the context. As cudaDeviceReset().
int resets(Program&, const Arguments& given) {
  CUdevice device = 0;
  NEED(cuDeviceGet(&device, 0));
  for (int round = 0; round < given.steps; ++round) {
    NEED(cuDevicePrimaryCtxReset(device));
    CUcontext context = nullptr;
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    CUdeviceptr native = 0, managed = 0;
    const CUresult first = cuMemAlloc(&native, given.most / 2);
    const CUresult second = cuMemAllocManaged(&managed, given.most / 2, CU_MEM_ATTACH_GLOBAL);
    if (first != CUDA_SUCCESS || second != CUDA_SUCCESS) {
      std::printf("no memory in round %d\n", round);
      return 6;
    }
  }
  std::printf("resets %d\n", given.steps);
  return 0;
}
const Mode resets_mode("resets", resets);

// What memory's functions return once a kernel has written where nothing is.
int faults(Program&, const Arguments&) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr freed = 0, ordered = 0, made = 0, nowhere = 0;
  std::size_t pitch = 0, free = 0, total = 0;
  NEED(cuModuleLoadData(&module, standin::kernel_image));
  NEED(cuModuleGetFunction(&kernel, module, "fault"));
  NEED(cuMemAlloc(&freed, kMiB));
  NEED(cuMemAllocAsync(&ordered, kMiB, nullptr));
  void* parameters[] = {&nowhere};
  NEED(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  std::printf("synchronize %d\n", cuCtxSynchronize());
  std::printf("allocate %d %d %d\n", cuMemAlloc(&made, kMiB), cuMemAllocPitch(&made, &pitch, 100, 10, 4),
              cuMemAllocAsync(&made, kMiB, nullptr));
  std::printf("free %d %d\n", cuMemFree(freed), cuMemFreeAsync(ordered, nullptr));
  std::printf("info %d\n", cuMemGetInfo(&free, &total));
  return 0;
}
const Mode faults_mode("faults", faults);

}  // namespace
}  // namespace gangway::memory_client

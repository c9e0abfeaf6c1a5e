// Memory that goes with its context.
#include "tests/live/memory_client/modes.hpp"
#include "tests/live/memory_client/waits.hpp"

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

CUcontext another_context() {
  CUdevice device = 0;
  CUcontext made = nullptr;
  NEED(cuDeviceGet(&device, 0));
  NEED(cuCtxCreate(&made, nullptr, 0, device));
  return made;
}

// Whether a free waits for the last use of the memory, in the memory's context or in another one.
int frees_elsewhere(Program& program, const Arguments&) {
  CUcontext own = nullptr;
  CUstream stream = nullptr;
  NEED(cuCtxGetCurrent(&own));
  NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUcontext other = another_context();
  for (const bool pooled : {false, true})
    for (const CUcontext freed_in : {own, other}) {
      CUdeviceptr at = 0;
      NEED(cuCtxSetCurrent(own));
      NEED(pooled ? cuMemAllocAsync(&at, kMiB, stream) : cuMemAlloc(&at, kMiB));
      NEED(cuStreamSynchronize(stream));
      program.mix_late(at, stream);
      NEED(cuCtxSetCurrent(freed_in));
      const CUresult freed = cuMemFree(at);
      const CUresult over = cuStreamQuery(stream);
      std::printf("%s, %s context: %d %d\n", pooled ? "pooled" : "plain", freed_in == own ? "own" : "another",
                  freed, over);
    }
  return 0;
}
const Mode frees_elsewhere_mode("frees-elsewhere", frees_elsewhere);

// Memory in the order of a stream of another context, and without a current one.
int ordered_elsewhere(Program&, const Arguments&) {
  CUcontext own = nullptr;
  CUstream stream = nullptr;
  NEED(cuCtxGetCurrent(&own));
  NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUcontext other = another_context();
  for (const CUcontext current : {own, other, CUcontext{}}) {
    CUdeviceptr at = 0;
    NEED(cuCtxSetCurrent(current));
    CUcontext below = nullptr;
    while (current == nullptr && cuCtxGetCurrent(&below) == CUDA_SUCCESS && below != nullptr)
      NEED(cuCtxPopCurrent(&below));
    const CUresult allocated = cuMemAllocAsync(&at, 3 * kMiB, stream);
    const CUresult set = cuMemsetD32Async(at, 1, 3 * kMiB / 4, stream);
    const CUresult freed = cuMemFreeAsync(at, stream);
    std::printf("%s context: %d %d %d, %d\n",
                current == own       ? "own"
                : current == nullptr ? "no"
                                     : "another",
                allocated, set, freed, cuStreamSynchronize(stream));
  }
  return 0;
}
const Mode ordered_elsewhere_mode("ordered-elsewhere", ordered_elsewhere);

// A state that belongs to no context; another context, the latest to get memory, ends before the state leaves
// (0) or while it is away (1).
int outlives(Program&, const Arguments& given) {
  CUcontext own = nullptr;
  CUdeviceptr at = 0, small = 0;
  const std::size_t words = given.most / 4;
  NEED(cuCtxGetCurrent(&own));
  NEED(cuMemAllocAsync(&at, given.most, nullptr));
  NEED(cuCtxSynchronize());
  const CUcontext other = another_context();
  NEED(cuMemAlloc(&small, 4096));
  if (given.steps == 0) NEED(cuCtxDestroy(other));
  NEED(cuCtxSetCurrent(own));
  NEED(cuMemsetD32(at, 5, words));
  NEED(cuCtxSynchronize());
  std::printf("holds %zu\n", given.most / kMiB);
  std::fflush(stdout);
  wait_for_file(given.file);
  if (given.steps == 1) NEED(cuCtxDestroy(other));
  NEED(cuCtxSetCurrent(own));
  std::uint32_t found = 0;
  NEED(cuMemcpyDtoH(&found, at + given.most - 4, sizeof found));
  std::printf("found %x\n", found);
  return 0;
}
const Mode outlives_mode("outlives", outlives);

}  // namespace
}  // namespace gangway::memory_client

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

}  // namespace
}  // namespace gangway::memory_client

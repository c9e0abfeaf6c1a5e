// The driver's functions that launch kernels.
#include <algorithm>

#include "api.hpp"
#include "tests/standin/contexts/host_function.hpp"
#include "tests/standin/graphs/capture.hpp"
#include "tests/standin/launches/kernel_command.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin::api {
namespace {

CUresult launch(CUfunction f, const LaunchShape& shape, CUstream handle, void** parameters, void** extra,
                bool cooperative) {
  Lock lock = lock_driver();
  InHostFunction::refuse();
  const auto into = stream(handle);
  const bool captured = captures(*into);
  if (!captured) f = function_in(lock, f, *into->context);
  try {
    submit(lock, *into, CU_GRAPH_NODE_TYPE_KERNEL, make_kernel(f, shape, parameters, extra, cooperative));
  } catch (const Failure& failure) {
    if (captured) invalidate(*into->capture, failure.result);
    throw;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                        unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes,
                        CUstream hStream, void** kernelParams, void** extra) {
  const LaunchShape shape{{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};
  return launch(f, shape, hStream, kernelParams, extra, false);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                                   unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ,
                                   unsigned sharedMemBytes, CUstream hStream, void** kernelParams) {
  const LaunchShape shape{{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};
  return launch(f, shape, hStream, kernelParams, nullptr, true);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
  require(config != nullptr && (config->numAttrs == 0 || config->attrs != nullptr));
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      cooperative = config->attrs[i].value.cooperative != 0;
  const LaunchShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                          {config->blockDimX, config->blockDimY, config->blockDimZ},
                          config->sharedMemBytes};
  return launch(f, shape, config->hStream, kernelParams, extra, cooperative);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize, size_t) {
  const Lock lock = lock_driver();
  require(numBlocks != nullptr && blockSize > 0 && blockSize <= 1024);
  function(func);
  *numBlocks = std::min(32, 2048 / ((blockSize + 31) / 32 * 32));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func, int blockSize,
                                                              size_t dynamicSMemSize, unsigned) {
  return api::cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, func, blockSize, dynamicSMemSize);
}

}  // namespace gangway::standin::api

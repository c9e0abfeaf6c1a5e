// Devices, streams, events, graphs and errors.
#include <cstring>

#include "tests/runtime/registered.hpp"

using namespace gangway::runtime;

// A function of the runtime that is one of the driver, whose types it has.
#define SAME(name, parameters, call)                                                  \
  cudaError_t name parameters {                                                       \
    if (const CUresult result = ready(); result != CUDA_SUCCESS) return told(result); \
    return told(call);                                                                \
  }

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const CUresult result = cuInit(0);
  return told(result == CUDA_SUCCESS ? cuDeviceGetCount(count) : result);
}
cudaError_t cudaSetDevice(int device) { return told(choose_device(device)); }
cudaError_t cudaGetDevice(int* device) { return *device = device_of_thread(), cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  CUdevice its = 0;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuDeviceGet(&its, device);
  if (result == CUDA_SUCCESS)
    result = cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), its);
  return told(result);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int device) {
  CUdevice its = 0;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuDeviceGet(&its, device);
  if (result != CUDA_SUCCESS) return told(result);
  std::memset(found, 0, sizeof *found);
  cuDeviceGetName(found->name, sizeof found->name, its);
  cuDeviceTotalMem(&found->totalGlobalMem, its);
  const struct {
    CUdevice_attribute attribute;
    int& value;
  } known[] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, found->major},
               {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, found->minor},
               {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, found->multiProcessorCount},
               {CU_DEVICE_ATTRIBUTE_WARP_SIZE, found->warpSize},
               {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found->maxThreadsPerBlock},
               {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, found->maxThreadsPerMultiProcessor},
               {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, found->maxGridSize[0]},
               {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, found->maxThreadsDim[0]}};
  for (const auto& each : known) cuDeviceGetAttribute(&each.value, each.attribute, its);
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return told(cuDriverGetVersion(version)); }
SAME(cudaDeviceSynchronize, (), cuCtxSynchronize())
SAME(cudaDeviceGetStreamPriorityRange, (int* least, int* most), cuCtxGetStreamPriorityRange(least, most))
cudaError_t cudaDeviceReset() {
  CUdevice its = 0;
  CUresult result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuDeviceGet(&its, device_of_thread());
  return told(result == CUDA_SUCCESS ? cuDevicePrimaryCtxReset(its) : result);
}

SAME(cudaStreamCreate, (cudaStream_t * made), cuStreamCreate(made, CU_STREAM_DEFAULT))
SAME(cudaStreamCreateWithFlags, (cudaStream_t * made, unsigned flags), cuStreamCreate(made, flags))
SAME(cudaStreamCreateWithPriority, (cudaStream_t * made, unsigned flags, int priority),
     cuStreamCreateWithPriority(made, flags, priority))
SAME(cudaStreamDestroy, (cudaStream_t stream), cuStreamDestroy(stream))
SAME(cudaStreamSynchronize, (cudaStream_t stream), cuStreamSynchronize(stream))
SAME(cudaStreamQuery, (cudaStream_t stream), cuStreamQuery(stream))
SAME(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
     cuStreamWaitEvent(stream, event, flags))
SAME(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode),
     cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode)))
SAME(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* made), cuStreamEndCapture(stream, made))
SAME(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status),
     cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)))

SAME(cudaEventCreate, (cudaEvent_t * made), cuEventCreate(made, CU_EVENT_DEFAULT))
SAME(cudaEventCreateWithFlags, (cudaEvent_t * made, unsigned flags), cuEventCreate(made, flags))
SAME(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), cuEventRecord(event, stream))
SAME(cudaEventQuery, (cudaEvent_t event), cuEventQuery(event))
SAME(cudaEventSynchronize, (cudaEvent_t event), cuEventSynchronize(event))
SAME(cudaEventElapsedTime, (float* ms, cudaEvent_t from, cudaEvent_t to), cuEventElapsedTime(ms, from, to))
SAME(cudaEventDestroy, (cudaEvent_t event), cuEventDestroy(event))

SAME(cudaGraphInstantiate, (cudaGraphExec_t * made, cudaGraph_t graph, unsigned long long flags),
     cuGraphInstantiate(made, graph, flags))
SAME(cudaGraphUpload, (cudaGraphExec_t graph, cudaStream_t stream), cuGraphUpload(graph, stream))
SAME(cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream), cuGraphLaunch(graph, stream))
SAME(cudaGraphExecDestroy, (cudaGraphExec_t graph), cuGraphExecDestroy(graph))
SAME(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy(graph))

cudaError_t cudaGetLastError() { return last_error(true); }
cudaError_t cudaPeekAtLastError() { return last_error(false); }
const char* cudaGetErrorString(cudaError_t error) {
  const char* text = nullptr;
  cuGetErrorString(static_cast<CUresult>(error), &text);
  return text == nullptr ? "unrecognized error code" : text;
}
const char* cudaGetErrorName(cudaError_t error) {
  const char* text = nullptr;
  cuGetErrorName(static_cast<CUresult>(error), &text);
  return text == nullptr ? "unrecognized error code" : text;
}

}  // extern "C"

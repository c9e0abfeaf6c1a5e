#include <cudaProfiler.h>

#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"

namespace gangway::conformance {

void beginnings() {
  int count = -1;
  CUcontext context = nullptr;
  CUdevice device = 0;
  CUdeviceptr words = 0;
  CUstream stream = nullptr;
  int version = 0;
  Line("before cuInit: version, count, context, device")
      << cuDriverGetVersion(&version) << cuDeviceGetCount(&count) << cuCtxGetCurrent(&context)
      << cuDeviceGet(&device, 0);
  Line("cuInit with flags") << cuInit(1);
  Line("cuInit, twice") << cuInit(0) << cuInit(0);
  Line("device 1000, device -1") << cuDeviceGet(&device, 1000) << cuDeviceGet(&device, -1);
  Line("no context: alloc, free, stream, synchronize, device, current, pop")
      << cuMemAlloc(&words, 4) << cuMemFree(0) << cuStreamCreate(&stream, 0) << cuCtxSynchronize()
      << cuCtxGetDevice(&device) << cuCtxGetCurrent(&context) << (context == nullptr)
      << cuCtxPopCurrent(&context);
  Line("no context: query and synchronize NULL, launch")
      << cuStreamQuery(nullptr) << cuStreamSynchronize(nullptr);
  CUmodule module = nullptr;
  CUevent event = nullptr;
  Line("no context: module, event") << cuModuleLoadData(&module, ".version 7.0") << cuEventCreate(&event, 0);
  int value = -1;
  Line("attribute 0, attribute 250") << cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0)
                                     << cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(250), 0);
  for (const CUdevice_attribute attribute :
       {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_WARP_SIZE,
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED}) {
    const CUresult result = cuDeviceGetAttribute(&value, attribute, 0);
    Line("attribute " + std::to_string(attribute)) << result << value;
  }
}

void contexts() {
  need(cuInit(0), "cuInit");
  unsigned flags = 9;
  int active = 9;
  const auto state = [&](const char* when) {
    const CUresult result = cuDevicePrimaryCtxGetState(0, &flags, &active);
    Line(std::string("primary ") + when) << result << flags << active;
  };
  state("before");
  CUcontext first = nullptr, second = nullptr, found = nullptr;
  Line("release too early") << cuDevicePrimaryCtxRelease(0);
  Line("retain, retain") << cuDevicePrimaryCtxRetain(&first, 0) << cuDevicePrimaryCtxRetain(&second, 0)
                         << (first == second);
  state("retained");
  Line("retaining makes none current") << cuCtxGetCurrent(&found) << (found == nullptr);
  Line("push, pop, pop") << cuCtxPushCurrent(first) << cuCtxPopCurrent(&found) << (found == first)
                         << cuCtxPopCurrent(&found);
  Line("set current, current") << cuCtxSetCurrent(first) << cuCtxGetCurrent(&found) << (found == first);
  Line("set current again does not push")
      << cuCtxSetCurrent(first) << cuCtxPopCurrent(&found) << cuCtxPopCurrent(&found);
  Line("set current to none") << cuCtxSetCurrent(first) << cuCtxSetCurrent(nullptr) << cuCtxGetCurrent(&found)
                              << (found == nullptr);
  Line("push null") << cuCtxPushCurrent(nullptr);
  CUcontext own = nullptr;
  need(cuCtxSetCurrent(first), "cuCtxSetCurrent");
  const CUresult made = cuCtxCreate(&own, nullptr, 0, 0);
  Line("create is current") << made << cuCtxGetCurrent(&found) << (found == own);
  CUdeviceptr words = 0;
  Line("own context works") << cuMemAlloc(&words, 4) << cuMemsetD32(words, 7, 1) << cuCtxSynchronize()
                            << cuMemFree(words);
  CUstream stream = nullptr;
  need(cuStreamCreate(&stream, 0), "cuStreamCreate");
  CUcontext of_stream = nullptr;
  Line("context of a stream") << cuStreamGetCtx(stream, &of_stream) << (of_stream == own);
  Line("destroy pops it") << cuCtxDestroy(own) << cuCtxGetCurrent(&found) << (found == first);
  Line("destroy the primary one") << cuCtxDestroy(first);
  unsigned version = 0;
  Line("limits, flags, version") << cuCtxGetFlags(&flags) << flags << cuCtxGetApiVersion(nullptr, &version)
                                 << version;
  std::size_t limit = 0;
  Line("limit unknown") << cuCtxGetLimit(&limit, static_cast<CUlimit>(14));
  Line("release, release, release") << cuDevicePrimaryCtxRelease(0) << cuDevicePrimaryCtxRelease(0)
                                    << cuDevicePrimaryCtxRelease(0);
  state("released");
  Line("the current context is gone") << cuMemAlloc(&words, 4) << cuCtxSynchronize();
  Line("profiler") << on_thread([] { return cuProfilerStart(); })
                   << on_thread([] { return cuProfilerStop(); });
}

void faults() {
  kernels();
  const CUstream s = new_stream(), other = new_stream();
  const CUevent event = new_event();
  const CUdeviceptr word = new_words(), null = 0;
  need(cuEventRecord(event, other), "cuEventRecord");
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  Line("a kernel faults") << launch(kernels().fault, s, {&null}) << cuStreamSynchronize(s);
  Line("then synchronize, query, other stream, context")
      << cuStreamSynchronize(s) << cuStreamQuery(s) << cuStreamQuery(other) << cuCtxSynchronize();
  Line("then launch, copy, set") << mix(other, word, 1) << cuMemsetD32Async(word, 1, 1, other)
                                 << cuMemcpyDtoDAsync(word, word, 4, other);
  CUdeviceptr more = 0;
  Line("then alloc, free, record, event query")
      << cuMemAlloc(&more, 4) << cuMemFree(word) << cuEventRecord(event, other) << cuEventQuery(event);
  CUstream stream = nullptr;
  CUfunction function = nullptr;
  CUcontext found = nullptr;
  CUdevice device = 0;
  Line("then stream, function, event, current, device")
      << cuStreamCreate(&stream, 0) << cuModuleGetFunction(&function, kernels().module, "mix")
      << cuEventDestroy(event) << cuCtxGetCurrent(&found) << cuCtxGetDevice(&device);
  Line("then destroy, unload, host function") << cuStreamDestroy(other) << cuModuleUnload(kernels().module)
                                              << cuLaunchHostFunc(
                                                     s, [](void*) {}, nullptr);
}

}  // namespace gangway::conformance

// What each call does to a capture under way, by the capture's mode, the caller's thread and its own mode.
#include <cstdlib>

#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"
#include "tests/standin/kernels/kernels.hpp"

namespace gangway::conformance {
namespace {

// Made anew for every question, before the capture begins.
struct Scene {
  CUstream capturing = new_stream(), other = new_stream(), blocking = new_stream(CU_STREAM_DEFAULT);
  CUevent recorded = new_event();
  CUdeviceptr words = new_words(16), freed = new_words();
  void* pinned = nullptr;
  void* pageable = std::aligned_alloc(4096, 4096);
  CUmodule module = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;

  Scene() {
    need(cuMemHostAlloc(&pinned, 4096, 0), "cuMemHostAlloc");
    need(cuModuleLoadData(&module, standin::kernel_image), "cuModuleLoadData");
    need(cuGraphCreate(&graph, 0), "cuGraphCreate");
    need(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
    need(cuEventRecord(recorded, other), "cuEventRecord");
    need(cuCtxSynchronize(), "cuCtxSynchronize");
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  ~Scene() {  // the rest goes with the process
    cuMemHostUnregister(pageable);
    std::free(pageable);
  }
};

struct Question {
  const char* name;
  CUresult (*ask)(Scene&);
};

const Question questions[] = {
    {"query another stream", [](Scene& s) { return cuStreamQuery(s.other); }},
    {"query the legacy stream", [](Scene&) { return cuStreamQuery(nullptr); }},
    {"synchronize another stream", [](Scene& s) { return cuStreamSynchronize(s.other); }},
    {"query an event", [](Scene& s) { return cuEventQuery(s.recorded); }},
    {"synchronize an event", [](Scene& s) { return cuEventSynchronize(s.recorded); }},
    {"record an event", [](Scene& s) { return cuEventRecord(s.recorded, s.other); }},
    {"wait for an event in another stream",
     [](Scene& s) { return cuStreamWaitEvent(s.other, s.recorded, 0); }},
    {"create an event",
     [](Scene&) {
       CUevent e;
       return cuEventCreate(&e, 0);
     }},
    {"destroy an event", [](Scene& s) { return cuEventDestroy(s.recorded); }},
    {"synchronize the context", [](Scene&) { return cuCtxSynchronize(); }},
    {"alloc",
     [](Scene&) {
       CUdeviceptr p;
       return cuMemAlloc(&p, 64);
     }},
    {"free", [](Scene& s) { return cuMemFree(s.freed); }},
    {"host alloc",
     [](Scene&) {
       void* p;
       return cuMemHostAlloc(&p, 64, 0);
     }},
    {"host free", [](Scene& s) { return cuMemFreeHost(s.pinned); }},
    {"host register", [](Scene& s) { return cuMemHostRegister(s.pageable, 4096, 0); }},
    {"alloc in order, another stream",
     [](Scene& s) {
       CUdeviceptr p;
       return cuMemAllocAsync(&p, 64, s.other);
     }},
    {"free in order, another stream", [](Scene& s) { return cuMemFreeAsync(s.freed, s.other); }},
    {"context of another stream",
     [](Scene& s) {
       CUcontext c;
       return cuStreamGetCtx(s.other, &c);
     }},
    {"current context",
     [](Scene&) {
       CUcontext c;
       return cuCtxGetCurrent(&c);
     }},
    {"memory info",
     [](Scene&) {
       std::size_t a, b;
       return cuMemGetInfo(&a, &b);
     }},
    {"pointer attribute",
     [](Scene& s) {
       unsigned v;
       return cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, s.words);
     }},
    {"synchronous copy to the device", [](Scene& s) { return cuMemcpyHtoD(s.words, s.pageable, 4); }},
    {"synchronous copy to the host", [](Scene& s) { return cuMemcpyDtoH(s.pageable, s.words, 4); }},
    {"synchronous copy in the device", [](Scene& s) { return cuMemcpyDtoD(s.words, s.words + 32, 4); }},
    {"synchronous set", [](Scene& s) { return cuMemsetD8(s.words, 0, 4); }},
    {"copy in another stream", [](Scene& s) { return cuMemcpyHtoDAsync(s.words, s.pageable, 4, s.other); }},
    {"copy back in another stream",
     [](Scene& s) { return cuMemcpyDtoHAsync(s.pageable, s.words, 4, s.other); }},
    {"set in another stream", [](Scene& s) { return cuMemsetD32Async(s.words, 0, 1, s.other); }},
    {"launch in another stream", [](Scene& s) { return mix(s.other, s.words, 1); }},
    {"launch in a blocking stream", [](Scene& s) { return mix(s.blocking, s.words, 1); }},
    {"launch in the legacy stream", [](Scene& s) { return mix(nullptr, s.words, 1); }},
    {"host function in another stream",
     [](Scene& s) {
       return cuLaunchHostFunc(
           s.other, [](void*) {}, nullptr);
     }},
    {"callback in another stream",
     [](Scene& s) {
       return cuStreamAddCallback(
           s.other, [](CUstream, CUresult, void*) {}, nullptr, 0);
     }},
    {"write a value in another stream",
     [](Scene& s) { return cuStreamWriteValue32(s.other, s.words, 1, 0); }},
    {"launch a graph in another stream", [](Scene& s) { return cuGraphLaunch(s.exec, s.other); }},
    {"instantiate a graph",
     [](Scene& s) {
       CUgraphExec e;
       return cuGraphInstantiate(&e, s.graph, 0);
     }},
    {"destroy an executable graph", [](Scene& s) { return cuGraphExecDestroy(s.exec); }},
    {"create a stream",
     [](Scene&) {
       CUstream made;
       return cuStreamCreate(&made, 0);
     }},
    {"destroy another stream", [](Scene& s) { return cuStreamDestroy(s.other); }},
    {"load a module",
     [](Scene&) {
       CUmodule m;
       return cuModuleLoadData(&m, standin::kernel_image);
     }},
    {"unload a module", [](Scene& s) { return cuModuleUnload(s.module); }},
    {"get a function",
     [](Scene& s) {
       CUfunction f;
       return cuModuleGetFunction(&f, s.module, "mix");
     }},
    {"load a library",
     [](Scene&) {
       CUlibrary l;
       return cuLibraryLoadData(&l, standin::kernel_image, nullptr, nullptr, 0, nullptr, nullptr, 0);
     }},
    {"retain the primary context",
     [](Scene&) {
       CUcontext c;
       return cuDevicePrimaryCtxRetain(&c, 0);
     }},
    {"occupancy",
     [](Scene&) {
       int n;
       return cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, kernels().mix, 64, 0);
     }},
};

// "RESULT/END" of one call during one capture.
std::string answer(const Question& question, CUstreamCaptureMode mode, CUstreamCaptureMode own_mode,
                   bool other_thread) {
  Scene scene;
  need(cuStreamBeginCapture(scene.capturing, mode), "cuStreamBeginCapture");
  need(mix(scene.capturing, scene.words, 1), "mix");
  const auto ask = [&] {
    CUstreamCaptureMode exchanged = own_mode;
    need(cuThreadExchangeStreamCaptureMode(&exchanged), "cuThreadExchangeStreamCaptureMode");
    const CUresult result = question.ask(scene);
    need(cuThreadExchangeStreamCaptureMode(&exchanged), "cuThreadExchangeStreamCaptureMode");
    return result;
  };
  const CUresult result = other_thread ? on_thread(ask) : ask();
  CUgraph graph = nullptr;
  const CUresult ended = cuStreamEndCapture(scene.capturing, &graph);
  return std::to_string(result) + '/' + std::to_string(ended);
}

}  // namespace

void capture_modes() {
  kernels();
  const std::pair<const char*, CUstreamCaptureMode> modes[] = {
      {"global", CU_STREAM_CAPTURE_MODE_GLOBAL},
      {"thread-local", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
      {"relaxed", CU_STREAM_CAPTURE_MODE_RELAXED}};
  for (const Question& question : questions) {
    for (const bool other_thread : {false, true}) {
      Line line(std::string(question.name) + (other_thread ? ", another thread" : ""));
      for (const auto& [name, mode] : modes)
        for (const auto& [own_name, own_mode] : modes) line << answer(question, mode, own_mode, other_thread);
    }
  }
}

}  // namespace gangway::conformance

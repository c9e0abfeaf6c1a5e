// Which calls come back while a stream is held, and which wait for it.
#include <cstdlib>

#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"
#include "tests/standin/kernels/kernels.hpp"

namespace gangway::conformance {
namespace {

struct Things {
  CUdeviceptr device = 0, device_to_free = 0, async_to_free = 0;
  char* pinned = nullptr;
  void* pinned_to_free = nullptr;
  void* registered = nullptr;
  std::vector<char> pageable = std::vector<char>(1 << 26);
  CUstream apart = nullptr, blocking = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
};

Things made() {
  Things t;
  t.apart = new_stream();
  t.blocking = new_stream(CU_STREAM_DEFAULT);
  t.event = new_event();
  t.device = new_words(1 << 24);
  t.device_to_free = new_words(1 << 18);
  void* pinned = nullptr;
  need(cuMemHostAlloc(&pinned, 1 << 20, 0), "cuMemHostAlloc");
  t.pinned = static_cast<char*>(pinned);
  need(cuMemHostAlloc(&t.pinned_to_free, 4096, 0), "cuMemHostAlloc");
  t.registered = std::aligned_alloc(4096, 4096);
  need(cuMemHostRegister(t.registered, 4096, 0), "cuMemHostRegister");
  need(cuModuleLoadData(&t.module, standin::kernel_image), "cuModuleLoadData");
  need(cuMemAllocAsync(&t.async_to_free, 64, t.apart), "cuMemAllocAsync");
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  return t;
}

void returns(const std::string& name, CUstream held, const std::function<CUresult()>& call) {
  Hold hold(held);
  const Return found = during(hold, call);
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  Line(name) << found.at_once << found.result;
}

void copies(Things& t) {
  returns("held apart: copy of 1 MiB pageable to device, asynchronous, there", t.apart,
          [&] { return cuMemcpyHtoDAsync(t.device, t.pageable.data(), 1 << 20, t.apart); });
  returns("held apart: copy of 64 MiB pageable to device, asynchronous, there", t.apart,
          [&] { return cuMemcpyHtoDAsync(t.device, t.pageable.data(), 1 << 26, t.apart); });
  returns("held apart: copy of 1 KiB pageable to device, asynchronous, there", t.apart,
          [&] { return cuMemcpyHtoDAsync(t.device, t.pageable.data(), 1 << 10, t.apart); });
  returns("held apart: copy of 1 KiB device to pageable, asynchronous, there", t.apart,
          [&] { return cuMemcpyDtoHAsync(t.pageable.data(), t.device, 1 << 10, t.apart); });
  returns("held apart: copy of 1 MiB pinned to device, asynchronous, there", t.apart,
          [&] { return cuMemcpyHtoDAsync(t.device, t.pinned, 1 << 20, t.apart); });
  returns("held apart: copy of 1 MiB device to pinned, asynchronous, there", t.apart,
          [&] { return cuMemcpyDtoHAsync(t.pinned, t.device, 1 << 20, t.apart); });
  returns("held apart: copy of 1 KiB pageable to device, synchronous", t.apart,
          [&] { return cuMemcpyHtoD(t.device, t.pageable.data(), 1 << 10); });
  returns("held: copy of 1 KiB pageable to device, synchronous", t.blocking,
          [&] { return cuMemcpyHtoD(t.device, t.pageable.data(), 1 << 10); });
  returns("held: copy of 1 KiB device to pageable, synchronous", t.blocking,
          [&] { return cuMemcpyDtoH(t.pageable.data(), t.device, 1 << 10); });
  returns("held: copy of 1 KiB device to device, synchronous", t.blocking,
          [&] { return cuMemcpyDtoD(t.device, t.device_to_free, 1 << 10); });
  returns("held: set of device memory, synchronous", t.blocking,
          [&] { return cuMemsetD8(t.device, 0, 1 << 10); });
  returns("held: set of pinned memory, synchronous", t.blocking,
          [&] { return cuMemsetD8(reinterpret_cast<CUdeviceptr>(t.pinned), 0, 1 << 10); });
}

void memory_calls(Things& t) {
  CUdeviceptr p = 0, async = 0;
  void* host = nullptr;
  void* other = std::aligned_alloc(4096, 4096);
  returns("held apart: alloc", t.apart, [&] { return cuMemAlloc(&p, 1 << 20); });
  returns("held apart: free", t.apart, [&] { return cuMemFree(t.device_to_free); });
  returns("held apart: host alloc", t.apart, [&] { return cuMemHostAlloc(&host, 4096, 0); });
  returns("held apart: host free", t.apart, [&] { return cuMemFreeHost(t.pinned_to_free); });
  returns("held apart: host register", t.apart, [&] { return cuMemHostRegister(other, 4096, 0); });
  returns("held apart: host unregister", t.apart, [&] { return cuMemHostUnregister(t.registered); });
  returns("held apart: alloc in order, there", t.apart, [&] { return cuMemAllocAsync(&async, 64, t.apart); });
  returns("held apart: free in order, there", t.apart,
          [&] { return cuMemFreeAsync(t.async_to_free, t.apart); });
}

void other_calls(Things& t) {
  CUstream fresh = nullptr;
  CUmodule loaded = nullptr;
  returns("held apart: load", t.apart, [&] { return cuModuleLoadData(&loaded, standin::kernel_image); });
  CUlibrary library = nullptr;
  returns("held apart: load a library", t.apart, [&] {
    return cuLibraryLoadData(&library, standin::kernel_image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  });
  returns("held apart: unload", t.apart, [&] { return cuModuleUnload(t.module); });
  returns("held apart: create a stream", t.apart,
          [&] { return cuStreamCreate(&fresh, CU_STREAM_NON_BLOCKING); });
  returns("held apart: destroy another stream", t.apart, [&] { return cuStreamDestroy(fresh); });
  returns("held apart: destroy an event", t.apart, [&] { return cuEventDestroy(t.event); });
  returns("held apart: synchronize another stream", t.apart, [&] { return cuStreamSynchronize(t.blocking); });
  returns("held apart: synchronize the legacy stream", t.apart, [&] { return cuStreamSynchronize(nullptr); });
  returns("held apart: synchronize it", t.apart, [&] { return cuStreamSynchronize(t.apart); });
  returns("held apart: synchronize the context", t.apart, [&] { return cuCtxSynchronize(); });
  returns("held: synchronize the legacy stream", t.blocking, [&] { return cuStreamSynchronize(nullptr); });
  const CUdeviceptr word = t.device;
  returns("held apart: 20 launches there", t.apart, [&] {
    for (Word k = 0; k < 20; ++k) need(mix(t.apart, word, k), "mix");
    return CUDA_SUCCESS;
  });
  returns("held apart: 20,000 launches there", t.apart, [&] {
    for (Word k = 0; k < 20000; ++k) need(mix(t.apart, word, k), "mix");
    return CUDA_SUCCESS;
  });
}

}  // namespace

void waiting_calls() {
  Things t = made();
  copies(t);
  memory_calls(t);
  other_calls(t);
}

}  // namespace gangway::conformance

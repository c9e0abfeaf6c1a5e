#include "tests/differential_driver/world.hpp"

#include "tests/standin/kernels/kernels.hpp"

namespace gangway::differential {
namespace {

void need(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "needed: %s: %d\n", what, static_cast<int>(result));
  std::exit(1);
}

}  // namespace

World::World() {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  need(cuInit(0), "cuInit");
  need(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  need(cuModuleLoadData(&module, standin::kernel_image), "cuModuleLoadData");
  need(cuModuleGetFunction(&mix, module, "mix"), "cuModuleGetFunction");
  need(cuModuleGetFunction(&fill, module, "fill"), "cuModuleGetFunction");
  streams[0] = CU_STREAM_LEGACY;
  streams[1] = CU_STREAM_PER_THREAD;
  for (unsigned i = 2; i < lanes; ++i)
    need(cuStreamCreateWithPriority(&streams[i], i < 4 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING,
                                    -static_cast<int>(i)),
         "cuStreamCreate");
  need(cuMemAlloc(&device, words * sizeof(Word)), "cuMemAlloc");
  void* page = nullptr;
  need(cuMemHostAlloc(&page, 4096, 0), "cuMemHostAlloc");
  pinned = static_cast<Word*>(page);
  need(cuStreamBeginCapture(streams[4], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  for (const Word k : {5U, 9U}) {
    CUdeviceptr p = word(0);
    Word value = k;
    void* parameters[] = {&p, &value};
    need(cuLaunchKernel(mix, 1, 1, 1, 1, 1, 1, 0, streams[4], parameters, nullptr), "cuLaunchKernel");
  }
  need(cuStreamEndCapture(streams[4], &graph), "cuStreamEndCapture");
  need(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
}

void Told::add(const std::string& text) {
  if (aloud_) std::puts(text.c_str());
  for (const char c : text) sum_ = (sum_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
}

void Told::result(const char* call, CUresult result) {
  add(std::string(call) + " -> " + std::to_string(result));
}

void Told::ready_or_not(const char* call, CUresult r) {
  result(call, r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r);
}

void Told::value(const char* name, std::uint64_t value) {
  add(std::string(name) + " = " + std::to_string(value));
}

}  // namespace gangway::differential

#include "tests/conformance_driver/gpu.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include "tests/standin/kernels/kernels.hpp"

namespace gangway::conformance {
namespace {

struct Progress {
  bool asleep = false;
  long ticks = 0;  // of CPU time
};

// A thread that waits for a core is not asleep: a busy machine makes no call look as if it waited.
Progress progress(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string state, skipped;
  long user = 0, system = 0;
  fields >> state;
  for (int i = 0; i < 10; ++i) fields >> skipped;
  fields >> user >> system;
  return {state == "S", user + system};
}

}  // namespace

Line::~Line() {
  std::puts(text_.c_str());
  std::fflush(stdout);
}

Line& Line::operator<<(const std::string& value) {
  text_ += ' ' + value;
  return *this;
}

Line& Line::operator<<(const std::vector<Word>& values) {
  for (const Word value : values) *this << value;
  return *this;
}

void need(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("needed: %s: %d\n", what, static_cast<int>(result));
  std::fflush(stdout);
  _exit(1);
}

CUcontext primary() {
  static const CUcontext context = [] {
    CUdevice device = 0;
    CUcontext made = nullptr;
    need(cuInit(0), "cuInit");
    need(cuDeviceGet(&device, 0), "cuDeviceGet");
    need(cuDevicePrimaryCtxRetain(&made, device), "cuDevicePrimaryCtxRetain");
    return made;
  }();
  return context;
}

const Kernels& kernels() {
  static const Kernels all = [] {
    Kernels k;
    need(cuCtxSetCurrent(primary()), "cuCtxSetCurrent");
    need(cuModuleLoadData(&k.module, standin::kernel_image), "cuModuleLoadData");
    const std::pair<const char*, CUfunction*> entries[] = {
        {"mix", &k.mix},     {"fill", &k.fill},     {"hold", &k.hold},
        {"spin", &k.spin},   {"layout", &k.layout}, {"shape", &k.shape},
        {"count", &k.count}, {"bump", &k.bump},     {"fault", &k.fault}};
    for (const auto& [name, function] : entries) need(cuModuleGetFunction(function, k.module, name), name);
    return k;
  }();
  return all;
}

CUstream new_stream(unsigned flags) {
  kernels();
  CUstream stream = nullptr;
  need(cuStreamCreate(&stream, flags), "cuStreamCreate");
  return stream;
}

CUevent new_event(unsigned flags) {
  kernels();
  CUevent event = nullptr;
  need(cuEventCreate(&event, flags), "cuEventCreate");
  return event;
}

CUdeviceptr new_words(std::size_t count) {
  kernels();
  CUdeviceptr words = 0;
  need(cuMemAlloc(&words, count * sizeof(Word)), "cuMemAlloc");
  need(cuMemsetD32(words, 0, count), "cuMemsetD32");
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  return words;
}

std::vector<Word> read(CUdeviceptr words, std::size_t count) {
  std::vector<Word> values(count);
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  need(cuMemcpyDtoH(values.data(), words, count * sizeof(Word)), "cuMemcpyDtoH");
  return values;
}

Word value_of(CUdeviceptr word) { return read(word).front(); }

CUresult launch(CUfunction function, CUstream stream, std::initializer_list<const void*> parameters,
                unsigned blocks, unsigned threads) {
  std::vector<void*> pointers;
  for (const void* p : parameters) pointers.push_back(const_cast<void*>(p));
  return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers.data(), nullptr);
}

CUresult mix(CUstream stream, CUdeviceptr word, Word k) { return launch(kernels().mix, stream, {&word, &k}); }

Hold::Hold(CUstream stream) : flag_(nullptr) {
  // Pinning waits for the device, so words are taken from one page that is pinned once.
  static Word* next = [] {
    void* page = nullptr;
    kernels();
    need(cuMemHostAlloc(&page, 65536, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    return static_cast<Word*>(page);
  }();
  flag_ = next++;
  const auto address = reinterpret_cast<CUdeviceptr>(flag_);
  const Word one = 1;
  *flag_ = 0;
  need(launch(kernels().hold, stream, {&address, &one}), "hold");
}

void Hold::release() { std::atomic_ref<Word>(*flag_).store(1, std::memory_order_release); }

Return during(Hold& hold, const std::function<CUresult()>& call) {
  std::atomic<int> thread = 0;
  std::future<CUresult> result = std::async(std::launch::async, [&] {
    need(cuCtxSetCurrent(primary()), "cuCtxSetCurrent");
    thread = gettid();
    return call();
  });
  bool at_once = false;
  long started = -1;
  for (int still = 0; still < 50 && !at_once;) {
    at_once = result.wait_for(std::chrono::milliseconds(10)) == std::future_status::ready;
    if (at_once || thread == 0) continue;
    const Progress now = progress(thread);
    if (started < 0) started = now.ticks;
    if (now.ticks - started >= sysconf(_SC_CLK_TCK) / 2) break;
    still = now.asleep ? still + 1 : 0;
  }
  hold.release();
  return {at_once, result.get()};
}

CUresult on_thread(const std::function<CUresult()>& call) {
  return std::async(std::launch::async,
                    [&] {
                      need(cuCtxSetCurrent(primary()), "cuCtxSetCurrent");
                      return call();
                    })
      .get();
}

}  // namespace gangway::conformance

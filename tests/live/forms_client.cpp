// A program of the tests whose kernels can leave before their end: uses the driver, knows nothing of Gangway.
// Its kernels have no host twins, so the stand-in carries their PTX out. forms_client WHAT [NUMBER [FILE]]
#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "examples/live/gangway_priority.h"

namespace {

void need(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s: error %d\n", what, static_cast<int>(result));
  if (std::getenv("FORMS_LINGERS") != nullptr) usleep(500'000);  // so that the daemon can be asked about it
  std::exit(3);
}
#define NEED(call) need(call, #call)

std::string text_of_file(const char* name) {
  std::ostringstream text;
  text << std::ifstream(name).rdbuf();
  return text.str();
}

constexpr std::uint32_t kThreads = 32;

struct Gpu {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;  // instead, with FORMS_LIBRARY
  CUfunction work = nullptr, mix = nullptr, plane = nullptr, tally = nullptr;
  std::string image;
  explicit Gpu(const char* file) : image(text_of_file(file)) {
    CUdevice device = 0;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    if (std::getenv("FORMS_LIBRARY") != nullptr)
      NEED(cuLibraryLoadData(&library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    else
      NEED(cuModuleLoadData(&module, image.c_str()));
    work = kernel("work");
    mix = kernel("mix_words");
    plane = kernel("plane");
    tally = kernel("tally");
  }
  // Of a library it is the CUkernel, as the CUDA runtime launches it.
  CUfunction kernel(const char* name) const {
    CUfunction function = nullptr;
    CUkernel of_library = nullptr;
    if (library == nullptr) {
      NEED(cuModuleGetFunction(&function, module, name));
      return function;
    }
    NEED(cuLibraryGetKernel(&of_library, library, name));
    return reinterpret_cast<CUfunction>(of_library);
  }
};

void launch(CUfunction function, CUstream stream, std::uint32_t blocks, std::vector<void*> parameters) {
  NEED(cuLaunchKernel(function, blocks, 1, 1, kThreads, 1, 1, 0, stream, parameters.data(), nullptr));
}

CUcontext new_context() {
  CUcontext made = nullptr;
#if CUDA_VERSION >= 13000
  NEED(cuCtxCreate(&made, nullptr, 0, 0));
#else
  NEED(cuCtxCreate(&made, 0, 0));
#endif
  return made;
}

CUstream new_stream() {
  CUstream stream = nullptr;
  NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

// As the kernels do it.
std::uint32_t worked(std::uint32_t i, std::uint32_t pass, std::uint32_t rounds) {
  std::uint32_t v = i * 2654435761u + pass;
  for (std::uint32_t k = 0; k < rounds; ++k) v = v * 1664525u + 1013904223u;
  return v;
}

std::uint32_t sum(const std::vector<std::uint32_t>& words) {
  std::uint32_t all = 0;
  for (const std::uint32_t word : words) all = all * 31 + word;
  return all;
}

// What a pass leaves behind: K1, K2 on it, an event, a second stream that waits for it, a copy out.
class Passes {
 public:
  Passes(Gpu& gpu, std::uint32_t blocks, std::uint32_t rounds)
      : gpu_(gpu), blocks_(blocks), rounds_(rounds), a_(new_stream()), b_(new_stream()) {
    NEED(cuMemAlloc(&p_, words() * 4));
    NEED(cuMemAlloc(&q_, words() * 4));
    NEED(cuMemAlloc(&r_, words() * 4));
    NEED(cuMemHostAlloc(reinterpret_cast<void**>(&out_), words() * 4, 0));
    NEED(cuEventCreate(&done_, CU_EVENT_DISABLE_TIMING));
  }
  std::size_t words() const { return std::size_t{blocks_} * kThreads; }

  // Whether every word is right.
  bool pass(std::uint32_t number) {
    auto n = static_cast<std::uint32_t>(words());
    NEED(cuMemsetD32Async(p_, 0, words(), a_));
    launch(gpu_.work, a_, blocks_, {&p_, &number, &rounds_});
    launch(gpu_.mix, a_, blocks_, {&p_, &q_, &n});
    NEED(cuEventRecord(done_, a_));
    NEED(cuStreamWaitEvent(b_, done_, 0));
    launch(gpu_.mix, b_, blocks_, {&q_, &r_, &n});
    NEED(cuMemcpyDtoHAsync(out_, r_, words() * 4, b_));
    NEED(cuStreamSynchronize(b_));
    std::vector<std::uint32_t> p(n), q(n), r(n);
    for (std::uint32_t i = 0; i < n; ++i) p[i] = worked(i, number, rounds_);
    for (std::uint32_t i = 0; i < n; ++i) q[i] = p[i] ^ p[(i + 1) % n];
    for (std::uint32_t i = 0; i < n; ++i) r[i] = q[i] ^ q[(i + 1) % n];
    if (std::memcmp(out_, r.data(), words() * 4) == 0) return result_ = result_ * 31 + sum(r), true;
    std::printf("pass %u is wrong\n", number);
    return false;
  }
  std::uint32_t result() const { return result_; }

 private:
  Gpu& gpu_;
  std::uint32_t blocks_, rounds_, result_ = 0;
  CUstream a_, b_;
  CUdeviceptr p_ = 0, q_ = 0, r_ = 0;
  std::uint32_t* out_ = nullptr;
  CUevent done_ = nullptr;
};

int passes(Gpu& gpu, int count) {
  Passes all(gpu, 64, 60);
  for (int pass = 0; pass < count; ++pass)
    if (!all.pass(static_cast<std::uint32_t>(pass))) return 1;
  std::printf("passes %d %u\n", count, all.result());
  return 0;
}

// More streams at once than a context has connections, and one that waits for all of them.
int fans(Gpu& gpu, int count) {
  constexpr std::uint32_t kStreams = 24, kBlocks = 8, kWords = kBlocks * kThreads;
  std::vector<CUstream> streams(kStreams);
  std::vector<CUevent> events(kStreams);
  for (CUstream& each : streams) each = new_stream();
  for (CUevent& each : events) NEED(cuEventCreate(&each, CU_EVENT_DISABLE_TIMING));
  CUdeviceptr p = 0, q = 0;
  std::uint32_t* out = nullptr;
  NEED(cuMemAlloc(&p, kStreams * kWords * 4));
  NEED(cuMemAlloc(&q, kStreams * kWords * 4));
  NEED(cuMemHostAlloc(reinterpret_cast<void**>(&out), kStreams * kWords * 4, 0));
  std::uint32_t result = 0;
  for (int round = 0; round < count; ++round) {
    auto number = static_cast<std::uint32_t>(round);
    std::uint32_t rounds = 60, n = kStreams * kWords;
    for (std::uint32_t s = 0; s < kStreams; ++s) {
      CUdeviceptr part = p + s * kWords * 4;
      NEED(cuMemsetD32Async(part, 0, kWords, streams[s]));
      launch(gpu.work, streams[s], kBlocks, {&part, &number, &rounds});
      NEED(cuEventRecord(events[s], streams[s]));
      if (s + 1 < kStreams) NEED(cuStreamWaitEvent(streams.back(), events[s], 0));
    }
    launch(gpu.mix, streams.back(), kStreams * kBlocks, {&p, &q, &n});
    NEED(cuMemcpyDtoHAsync(out, q, n * 4, streams.back()));
    NEED(cuStreamSynchronize(streams.back()));
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t next = (i + 1) % n;
      const std::uint32_t right = worked(i % kWords, number, rounds) ^ worked(next % kWords, number, rounds);
      if (out[i] != right) return std::printf("round %d is wrong\n", round), 1;
      result = result * 31 + out[i];
    }
  }
  std::printf("fans %d %u\n", count, result);
  return 0;
}

// A thread that allocates, pins, captures, launches graphs and loads modules meanwhile.
class Side {
 public:
  explicit Side(Gpu& gpu) : gpu_(gpu), thread_([this] { run(); }) {}
  unsigned end() {
    stop_ = true;
    thread_.join();
    return wrong_;
  }
  unsigned rounds() const { return rounds_; }

 private:
  void run() {
    NEED(cuCtxSetCurrent(gpu_.context));
    const CUstream s = new_stream();
    const std::uint32_t blocks = 8;
    for (; !stop_; ++rounds_) {
      CUdeviceptr d = 0;
      std::uint32_t* h = nullptr;
      NEED(cuMemAlloc(&d, blocks * kThreads * 4));
      NEED(cuMemHostAlloc(reinterpret_cast<void**>(&h), blocks * kThreads * 4, 0));
      CUgraph graph = nullptr;
      CUgraphExec executable = nullptr;
      NEED(cuStreamBeginCapture(
          s, rounds_ % 2 == 0 ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL : CU_STREAM_CAPTURE_MODE_RELAXED));
      std::uint32_t number = rounds_, few = 5;
      launch(gpu_.work, s, blocks, {&d, &number, &few});
      NEED(cuStreamEndCapture(s, &graph));
      NEED(cuGraphInstantiate(&executable, graph, 0));
      NEED(cuMemsetD32Async(d, 0, blocks * kThreads, s));
      NEED(cuGraphLaunch(executable, s));
      CUmodule module = nullptr;
      CUfunction tally = nullptr;
      NEED(cuModuleLoadData(&module, gpu_.image.c_str()));
      NEED(cuModuleGetFunction(&tally, module, "tally"));
      launch(tally, s, blocks, {&d});
      NEED(cuMemcpyDtoHAsync(h, d, blocks * kThreads * 4, s));
      NEED(cuStreamSynchronize(s));
      for (std::uint32_t i = 0; i < blocks * kThreads; ++i) wrong_ += h[i] != worked(i, number, few) + 1;
      NEED(cuModuleUnload(module));
      NEED(cuGraphExecDestroy(executable));
      NEED(cuGraphDestroy(graph));
      NEED(cuMemFreeHost(h));
      NEED(cuMemFree(d));
    }
  }
  Gpu& gpu_;
  std::atomic<bool> stop_{false};
  unsigned rounds_ = 0, wrong_ = 0;
  std::thread thread_;
};

int riskiest(Gpu& gpu, int count) {
  Passes all(gpu, 64, 60);
  Side side(gpu);
  bool right = true;
  for (int pass = 0; right && pass < count; ++pass) right = all.pass(static_cast<std::uint32_t>(pass));
  const unsigned wrong = side.end();
  if (wrong != 0) std::printf("%u wrong words beside\n", wrong);
  if (right && wrong == 0) std::printf("riskiest %d %u\n", count, all.result());
  return right && wrong == 0 && side.rounds() > 0 ? 0 : 1;
}

// What the program is told while a long kernel is under way: it is not over before its last block.
int asks(Gpu& gpu, int count) {
  const CUstream stream = new_stream();
  const std::uint32_t blocks = 64;
  std::vector<std::uint32_t> out(blocks * kThreads);
  for (int round = 0; round < count; ++round) {
    CUdeviceptr p = 0;
    CUevent event = nullptr;
    NEED(cuMemAlloc(&p, out.size() * 4));
    NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 100;
    CUstream of_its_own = round % 3 == 2 ? new_stream() : stream;
    NEED(cuMemsetD32Async(p, 0, out.size(), of_its_own));  // cuMemsetD32 would go on beside the kernel
    launch(gpu.work, of_its_own, blocks, {&p, &number, &rounds});
    NEED(cuEventRecord(event, of_its_own));
    if (round % 3 == 0) {
      while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (round % 3 == 1) {
      while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else {
      NEED(cuStreamDestroy(of_its_own));  // what is in it goes on
    }
    if (round % 3 == 2) NEED(cuCtxSynchronize());
    NEED(cuMemcpyDtoH(out.data(), p, out.size() * 4));
    for (std::uint32_t i = 0; i < out.size(); ++i)
      if (out[i] != worked(i, number, rounds)) return std::printf("round %d: word %u\n", round, i), 1;
    // Freed while it is under way: all of it is done all the same.
    launch(gpu.work, stream, blocks, {&p, &number, &rounds});
    NEED(cuMemFree(p));
    NEED(cuEventDestroy(event));
  }
  CUmodule module = nullptr;
  CUfunction work = nullptr;
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  NEED(cuMemsetD32(p, 0, out.size()));
  NEED(cuModuleLoadData(&module, gpu.image.c_str()));
  NEED(cuModuleGetFunction(&work, module, "work"));
  std::uint32_t number = 5, rounds = 100;
  launch(work, nullptr, blocks, {&p, &number, &rounds});
  NEED(cuModuleUnload(module));
  NEED(cuMemcpyDtoH(out.data(), p, out.size() * 4));
  for (std::uint32_t i = 0; i < out.size(); ++i)
    if (out[i] != worked(i, number, rounds)) return std::printf("unloaded: word %u\n", i), 1;
  std::printf("asks %d\n", count);
  return 0;
}

// Kernels in several dimensions, by `extra`, with a variable, in default streams and with dynamic memory.
int kinds(Gpu& gpu, int count) {
  const std::uint32_t width = 6, height = 5, depth = 4, blocks = width * height * depth;
  std::vector<std::uint32_t> out(blocks * kThreads);
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  std::uint32_t all = 0;
  for (int round = 0; round < count; ++round) {
    NEED(cuMemsetD32(p, 0, out.size()));
    struct {
      CUdeviceptr p;
      std::uint32_t rounds;
    } parameters{p, 40};
    std::size_t bytes = 12;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    const CUstream stream = round % 3 == 0   ? nullptr
                            : round % 3 == 1 ? CU_STREAM_PER_THREAD
                                             : CU_STREAM_LEGACY;
    if (round % 2 == 0) {
      NEED(cuLaunchKernel(gpu.plane, width, height, depth, kThreads, 1, 1, 256, stream, nullptr, extra));
    } else {
      CUlaunchConfig config{};
      config.gridDimX = width;
      config.gridDimY = height;
      config.gridDimZ = depth;
      config.blockDimX = kThreads;
      config.blockDimY = config.blockDimZ = 1;
      config.hStream = stream;
      void* list[] = {&parameters.p, &parameters.rounds};
      NEED(cuLaunchKernelEx(&config, gpu.plane, list, nullptr));
    }
    NEED(cuStreamSynchronize(stream));
    NEED(cuMemcpyDtoH(out.data(), p, out.size() * 4));
    all = all * 31 + sum(out);
  }
  CUdeviceptr counter = 0;
  std::size_t bytes = 0;
  std::uint32_t counted = 0;
  NEED(cuModuleGetGlobal(&counter, &bytes, gpu.module, "launched"));
  NEED(cuMemcpyDtoH(&counted, counter, 4));
  unsigned functions = 0;
  NEED(cuModuleGetFunctionCount(&functions, gpu.module));
  std::printf("kinds %d %u, %zu bytes: %u, %u functions\n", count, all, bytes, counted, functions);
  return 0;
}

// A kernel whose blocks wait for the last one of its grid (waiting_kernels.ptx).
int awaits(int count) {
  const std::string image = text_of_file(std::getenv("FORMS_WAITING_PTX"));
  CUmodule module = nullptr;
  CUfunction await_last = nullptr;
  NEED(cuModuleLoadData(&module, image.c_str()));
  NEED(cuModuleGetFunction(&await_last, module, "await_last"));
  const CUstream stream = new_stream();
  const std::uint32_t blocks = 48;
  std::uint32_t rounds = 4, all = 0;  // so that claims are a good part of it
  std::vector<std::uint32_t> out(blocks * kThreads);
  CUdeviceptr p = 0, words = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  NEED(cuMemAlloc(&words, blocks * 4));
  for (std::uint32_t round = 0; round < static_cast<std::uint32_t>(count); ++round) {
    NEED(cuMemsetD32Async(p, 0, out.size(), stream));
    NEED(cuMemsetD32Async(words, 0, blocks, stream));
    launch(await_last, stream, blocks, {&p, &words, &round, &rounds});
    NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
    NEED(cuStreamSynchronize(stream));
    const std::uint32_t last = worked((blocks - 1) * kThreads, round, rounds) | 1;
    for (std::uint32_t i = 0; i < out.size(); ++i)
      if (out[i] != (worked(i, round, rounds) ^ last)) return std::printf("round %u: word %u\n", round, i), 1;
    all = all * 31 + sum(out);
  }
  std::printf("awaits %d %u\n", count, all);
  return 0;
}

// Launches of blocks that a kernel cannot have (bounded_kernels.ptx), between others.
// Kernels of several streams that wait for what another stream does.
int told(int count) {
  constexpr std::uint32_t kStreams = 3;
  const std::string image = text_of_file(std::getenv("FORMS_WAITING_PTX"));
  CUmodule module = nullptr;
  CUfunction await_told = nullptr;
  NEED(cuModuleLoadData(&module, image.c_str()));
  NEED(cuModuleGetFunction(&await_told, module, "await_told"));
  CUstream streams[kStreams];
  for (CUstream& each : streams) each = new_stream();
  const CUstream tells = new_stream();
  CUdeviceptr p = 0, words = 0;
  NEED(cuMemAlloc(&p, kStreams * 4));
  NEED(cuMemAlloc(&words, kStreams * 4));
  for (int round = 1; round <= count; ++round) {
    NEED(cuMemsetD32Async(words, 0, kStreams, tells));  // cuMemsetD32 could come after what is told
    NEED(cuStreamSynchronize(tells));
    for (std::uint32_t s = 0; s < kStreams; ++s) {
      CUdeviceptr found = p + s * 4, word = words + s * 4;
      launch(await_told, streams[s], 1, {&found, &word});
    }
    NEED(cuMemsetD32Async(words, static_cast<unsigned>(round), kStreams, tells));
    NEED(cuCtxSynchronize());
    std::uint32_t out[kStreams];
    NEED(cuMemcpyDtoH(out, p, sizeof out));
    for (const std::uint32_t found : out)
      if (found != static_cast<std::uint32_t>(round)) return std::printf("round %d: %u\n", round, found), 1;
  }
  std::printf("told %d\n", count);
  return 0;
}

int refused(int count) {
  const std::string image = text_of_file(std::getenv("FORMS_BOUNDED_PTX"));
  CUmodule module = nullptr;
  CUfunction kernels[2] = {};
  NEED(cuModuleLoadData(&module, image.c_str()));
  NEED(cuModuleGetFunction(&kernels[0], module, "needs_32"));
  NEED(cuModuleGetFunction(&kernels[1], module, "at_most_32"));
  const CUstream stream = new_stream();
  const std::uint32_t blocks = 40;
  constexpr unsigned kShapes[][3] = {{64, 1, 1}, {16, 4, 1}, {1, 1, 128},
                                     {8, 8, 1},  {16, 1, 1}, {2048, 1, 1}};
  std::vector<std::uint32_t> out(blocks * kThreads);
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  for (int round = 0; round < count; ++round) {
    const CUfunction kernel = kernels[round / 2 % 2];
    void* list[] = {&p};
    NEED(cuMemsetD32Async(p, 0, out.size(), stream));
    NEED(cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, stream, list, nullptr));
    const auto& shape = kShapes[round % std::size(kShapes)];
    std::printf("%d ", static_cast<int>(cuLaunchKernel(kernel, blocks, 1, 1, shape[0], shape[1], shape[2], 0,
                                                       stream, list, nullptr)));
    NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
    NEED(cuStreamSynchronize(stream));
    std::printf("%u\n", sum(out));
  }
  return 0;
}

// A kernel between modules that come and go, whose kernels are used once: handles mean one after another.
int unloads(Gpu& gpu, int count) {
  const CUstream stream = new_stream();
  const std::uint32_t blocks = 48;
  std::vector<std::uint32_t> out(blocks * kThreads);
  std::uint32_t all = 0;
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  for (int round = 0; round < count; ++round) {
    CUmodule module = nullptr;
    CUfunction tally = nullptr;
    NEED(cuModuleLoadData(&module, gpu.image.c_str()));
    NEED(cuModuleGetFunction(&tally, module, "tally"));
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 40;
    NEED(cuMemsetD32Async(p, 0, out.size(), stream));
    launch(gpu.work, stream, blocks, {&p, &number, &rounds});
    launch(tally, stream, blocks, {&p});
    NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
    NEED(cuStreamSynchronize(stream));
    NEED(cuModuleUnload(module));
    for (std::uint32_t i = 0; i < out.size(); ++i)
      if (out[i] != worked(i, number, rounds) + 1) return std::printf("round %d: word %u\n", round, i), 1;
    all = all * 31 + sum(out);
  }
  std::printf("unloads %d %u\n", count, all);
  return 0;
}

const char* const kOtherWork = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry work(.param .u64 p) {
  .reg .b64 %a, %b; .reg .b32 %t, %c, %n;
  ld.param.u64 %a, [p];
  cvta.to.global.u64 %a, %a;
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %t, %c, %n, %t;
  mul.wide.u32 %b, %t, 4;
  add.s64 %a, %a, %b;
  st.global.u32 [%a], %c;
  ret;
})";

// Whether each word is what `work` and then `tally` make of it.
bool tallied(const std::vector<std::uint32_t>& out, std::uint32_t number, std::uint32_t rounds) {
  for (std::uint32_t i = 0; i < out.size(); ++i)
    if (out[i] != worked(i, number, rounds) + 1) return std::printf("round %u: word %u\n", number, i), false;
  return true;
}

// Contexts that come and go with their modules, so that one kernel's handle becomes another's.
int contexts(const Gpu& gpu, int count) {
  const std::uint32_t blocks = 48;
  std::vector<std::uint32_t> out(blocks * kThreads);
  const std::string bounded = text_of_file(std::getenv("FORMS_BOUNDED_PTX"));
  std::uint32_t all = 0;
  for (int round = 0; round < count; ++round) {
    CUcontext context = new_context();
    CUmodule module = nullptr;
    CUfunction work = nullptr, tally = nullptr;
    CUdeviceptr p = 0;
    NEED(cuModuleLoadData(&module, gpu.image.c_str()));
    for (int k = 0; k < 2; ++k)  // in either order
      (round + k) % 2 == 0 ? NEED(cuModuleGetFunction(&work, module, "work"))
                           : NEED(cuModuleGetFunction(&tally, module, "tally"));
    NEED(cuMemAlloc(&p, out.size() * 4));
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 40;
    const CUstream stream = new_stream();
    for (std::uint32_t k = 0; k < 3; ++k) {
      NEED(cuMemsetD32Async(p, 0, out.size(), stream));
      launch(work, stream, blocks, {&p, &number, &rounds});
      launch(tally, stream, blocks, {&p});
      NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
      NEED(cuStreamSynchronize(stream));
      if (!tallied(out, number, rounds)) return 1;
    }
    all = all * 31 + sum(out);
    NEED(cuCtxDestroy(context));
    // Other kernels, at handles that are free now: of the same name without forms, and of other names.
    for (const auto& [image, name] :
         {std::pair(kOtherWork, "work"), std::pair(bounded.c_str(), "needs_32")}) {
      context = new_context();
      CUfunction other = nullptr;
      NEED(cuModuleLoadData(&module, image));
      NEED(cuModuleGetFunction(&other, module, name));
      NEED(cuMemAlloc(&p, out.size() * 4));
      const CUstream beside = new_stream();
      for (std::uint32_t k = 0; k < 3; ++k) {
        NEED(cuMemsetD32Async(p, 0, out.size(), beside));
        launch(other, beside, blocks, {&p});
        NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, beside));
        NEED(cuStreamSynchronize(beside));
        all = all * 31 + sum(out);
      }
      NEED(cuCtxDestroy(context));
    }
  }
  std::printf("contexts %d %u\n", count, all);
  return 0;
}

// Work behind a wait that the program ends itself: so much that the keeper would rather wait, and calls for
// which it would like to be alone.
int releases(Gpu& gpu, int count) {
  const std::uint32_t blocks = 16;
  std::vector<std::uint32_t> out(blocks * kThreads);
  std::uint32_t *go = nullptr, *pinned = nullptr;
  NEED(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), out.size() * 4, 0));
  CUdeviceptr p = 0, go_on_device = 0;
  NEED(cuMemHostAlloc(reinterpret_cast<void**>(&go), 4, CU_MEMHOSTALLOC_DEVICEMAP));
  NEED(cuMemHostGetDevicePointer(&go_on_device, go, 0));
  NEED(cuMemAlloc(&p, out.size() * 4));
  std::uint32_t all = 0;
  for (int round = 0; round < count; ++round) {
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 20;
    const CUstream stream = new_stream();
    std::atomic_ref<std::uint32_t>(*go).store(0);
    NEED(cuStreamWaitValue32(stream, go_on_device, 1, CU_STREAM_WAIT_VALUE_EQ));
    for (int k = 0; k < 300; ++k) launch(gpu.work, stream, blocks, {&p, &number, &rounds});
    launch(gpu.tally, stream, blocks, {&p});
    NEED(cuMemcpyDtoHAsync(pinned, p, out.size() * 4, stream));
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    int registers = 0;
    NEED(cuGraphCreate(&graph, 0));
    NEED(cuGraphInstantiate(&executable, graph, 0));
    if (gpu.library == nullptr) NEED(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, gpu.plane));
    const CUstream beside = new_stream();
    std::atomic_ref<std::uint32_t>(*go).store(1);
    NEED(cuStreamSynchronize(stream));
    std::copy(pinned, pinned + out.size(), out.begin());
    all = all * 31 + sum(out);
    NEED(cuGraphExecDestroy(executable));
    NEED(cuGraphDestroy(graph));
    NEED(cuStreamDestroy(beside));
    NEED(cuStreamDestroy(stream));
  }
  std::printf("releases %d %u\n", count, all);
  return 0;
}

// A primary context that is reset, and comes back with the same handle; so does the kernel of a library. The
// program itself uses what belongs to it only as long as it is there.
int resets(Gpu& gpu, int count) {
  const std::uint32_t blocks = 48;
  std::vector<std::uint32_t> out(blocks * kThreads);
  std::uint32_t all = 0;
  for (int round = 0; round < count; ++round) {
    CUdeviceptr p = 0;
    NEED(cuMemAlloc(&p, out.size() * 4));
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 40;
    for (const CUstream stream : {new_stream(), CU_STREAM_PER_THREAD, CU_STREAM_LEGACY}) {
      for (int k = 0; k < 6; ++k) {
        NEED(cuMemsetD32Async(p, 0, out.size(), stream));
        launch(gpu.work, stream, blocks, {&p, &number, &rounds});
        launch(gpu.tally, stream, blocks, {&p});
      }
      NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
      NEED(cuStreamSynchronize(stream));
      if (!tallied(out, number, rounds)) return 1;
    }
    all = all * 31 + sum(out);
    NEED(cuDevicePrimaryCtxReset(0));
    NEED(cuDevicePrimaryCtxRetain(&gpu.context, 0));
    NEED(cuCtxSetCurrent(gpu.context));
    if (gpu.library == nullptr) {
      NEED(cuModuleLoadData(&gpu.module, gpu.image.c_str()));
      gpu.work = gpu.kernel("work");
      gpu.tally = gpu.kernel("tally");
    }
  }
  std::printf("resets %d %u\n", count, all);
  return 0;
}

// Short urgent jobs until the file exists, at random moments.
int urgent(Gpu& gpu, const char* file) {
  if (const char* own = std::getenv("URGENT_PRIORITY")) gangway_set_priority(std::atoi(own));
  const CUstream stream = new_stream();
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, kThreads * 4));
  int jobs = 0;
  std::uint32_t dice = static_cast<std::uint32_t>(getpid());
  for (; access(file, F_OK) != 0; ++jobs) {
    std::uint32_t number = static_cast<std::uint32_t>(jobs), few = 3;
    launch(gpu.work, stream, 1, {&p, &number, &few});
    NEED(cuStreamSynchronize(stream));
    dice = dice * 1664525u + 1013904223u;
    std::this_thread::sleep_for(std::chrono::microseconds(200 + (dice >> 16) % 4000));
  }
  std::printf("urgent: %s\n", jobs > 0 ? "worked" : "nothing");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "passes";
  const char* number = argc > 2 ? argv[2] : "10";
  Gpu gpu(std::getenv("FORMS_PTX"));
  if (std::strcmp(what, "passes") == 0) return passes(gpu, std::atoi(number));
  if (std::strcmp(what, "riskiest") == 0) return riskiest(gpu, std::atoi(number));
  if (std::strcmp(what, "fans") == 0) return fans(gpu, std::atoi(number));
  if (std::strcmp(what, "asks") == 0) return asks(gpu, std::atoi(number));
  if (std::strcmp(what, "kinds") == 0) return kinds(gpu, std::atoi(number));
  if (std::strcmp(what, "awaits") == 0) return awaits(std::atoi(number));
  if (std::strcmp(what, "told") == 0) return told(std::atoi(number));
  if (std::strcmp(what, "refused") == 0) return refused(std::atoi(number));
  if (std::strcmp(what, "contexts") == 0) return contexts(gpu, std::atoi(number));
  if (std::strcmp(what, "releases") == 0) return releases(gpu, std::atoi(number));
  if (std::strcmp(what, "resets") == 0) return resets(gpu, std::atoi(number));
  if (std::strcmp(what, "unloads") == 0) return unloads(gpu, std::atoi(number));
  if (std::strcmp(what, "urgent") == 0) return urgent(gpu, number);
  return 2;
}

// Passes over data whose every word is known, beside other calls.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/live/forms_client/modes.hpp"

namespace gangway::forms_client {
namespace {

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

int passes(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  Passes all(gpu, 64, 60);
  for (int pass = 0; pass < count; ++pass)
    if (!all.pass(static_cast<std::uint32_t>(pass))) return 1;
  std::printf("passes %d %u\n", count, all.result());
  return 0;
}
const Mode passes_mode("passes", passes);

// Passes of kernels whose blocks are set to form clusters, of so many in x.
int clusters(Gpu& gpu, const char* argument) {
  for (const CUfunction each : {gpu.work, gpu.mix}) {
    gpu.set(each, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1);
    gpu.set(each, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1);
    gpu.set(each, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, std::atoi(argument));
  }
  return passes(gpu, "10");
}
const Mode clusters_mode("clusters", clusters);

// Launches with as many bytes of dynamic shared memory. BYTES, or BYTES:LIMIT, which it sets before.
int shared(Gpu& gpu, const char* argument) {
  const auto bytes = static_cast<unsigned>(std::atoi(argument));
  const char* const limit = std::strchr(argument, ':');
  if (limit != nullptr)
    gpu.set(gpu.work, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, std::atoi(limit + 1));
  constexpr std::uint32_t kBlocks = 8, kWords = kBlocks * kThreads, kPasses = 20;
  std::vector<std::uint32_t> out(kWords);
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, kWords * 4));
  const CUstream stream = new_stream();
  for (std::uint32_t pass = 0; pass < kPasses; ++pass) {
    std::uint32_t rounds = 60;
    void* parameters[] = {&p, &pass, &rounds};
    NEED(cuMemsetD32Async(p, 0, kWords, stream));
    NEED(cuLaunchKernel(gpu.work, kBlocks, 1, 1, kThreads, 1, 1, bytes, stream, parameters, nullptr));
    NEED(cuMemcpyDtoHAsync(out.data(), p, kWords * 4, stream));
    NEED(cuStreamSynchronize(stream));
    for (std::uint32_t i = 0; i < kWords; ++i)
      if (out[i] != worked(i, pass, rounds)) return std::printf("pass %u: word %u\n", pass, i), 1;
  }
  std::printf("shared %u\n", bytes);
  return 0;
}
const Mode shared_mode("shared", shared);

// More streams at once than a context has connections, and one that waits for all of them.
int fans(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
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
const Mode fans_mode("fans", fans);

// For so many ms, more streams than the context has queues, none of which is ever without work.
int floods(Gpu& gpu, const char* argument) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::atoi(argument));
  constexpr std::uint32_t kStreams = 12, kBlocks = 8, kWords = kBlocks * kThreads, kAhead = 3;
  std::uint32_t rounds = 300, number = 0;
  std::vector<CUstream> streams(kStreams);
  std::vector<CUevent> events(kStreams * kAhead);
  for (CUstream& each : streams) each = new_stream();
  for (CUevent& each : events) NEED(cuEventCreate(&each, CU_EVENT_DISABLE_TIMING));
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, kStreams * kWords * 4));
  for (; std::chrono::steady_clock::now() < end; ++number)
    for (std::uint32_t s = 0; s < kStreams; ++s) {
      CUdeviceptr part = p + s * kWords * 4;
      const CUevent behind = events[s * kAhead + number % kAhead];
      NEED(cuEventSynchronize(behind));  // of kAhead rounds ago
      NEED(cuMemsetD32Async(part, 0, kWords, streams[s]));
      launch(gpu.work, streams[s], kBlocks, {&part, &number, &rounds});
      launch(gpu.tally, streams[s], kBlocks, {&part});
      NEED(cuEventRecord(behind, streams[s]));
    }
  NEED(cuCtxSynchronize());
  for (std::uint32_t s = 0; s < kStreams; ++s) {
    std::vector<std::uint32_t> out(kWords);
    NEED(cuMemcpyDtoH(out.data(), p + s * kWords * 4, kWords * 4));
    if (!tallied(out, number - 1, rounds)) return 1;
  }
  std::printf("floods right\n");
  return 0;
}
const Mode floods_mode("floods", floods);

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

int riskiest(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  Passes all(gpu, 64, 60);
  Side side(gpu);
  bool right = true;
  for (int pass = 0; right && pass < count; ++pass) right = all.pass(static_cast<std::uint32_t>(pass));
  const unsigned wrong = side.end();
  if (wrong != 0) std::printf("%u wrong words beside\n", wrong);
  if (right && wrong == 0) std::printf("riskiest %d %u\n", count, all.result());
  return right && wrong == 0 && side.rounds() > 0 ? 0 : 1;
}
const Mode riskiest_mode("riskiest", riskiest);

}  // namespace
}  // namespace gangway::forms_client

// Work whose order matters, for a gate to interrupt at random moments: a kernel of 50 ms, one that depends on
// it, an event, a second stream that waits for it, a copy out; each pass is checked. Meanwhile another thread
// allocates, pins, captures and launches graphs, and loads modules. riskiest SECONDS [FILE [GRAIN]] prints
// passes, wrong results and passes a second; it ends early when the file exists. With a grain, the long
// kernel has blocks of so many us. nvcc -arch=sm_90 -std=c++17 -lcuda
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#define OK(call)                                                                                 \
  do {                                                                                           \
    if (const cudaError_t e = (call); e != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (false)

constexpr unsigned n = 1 << 20;

__device__ void wait(long long ns) {
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < ns);
}
__global__ void first(unsigned* p, unsigned pass, long long ns) {
  wait(ns);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned k = i; k < n; k += gridDim.x * blockDim.x) p[k] = k * 2654435761u + pass;
}
__global__ void second(const unsigned* p, unsigned* q) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) q[i] = p[i] ^ p[(i + 1) % n];
}
__global__ void third(const unsigned* q, unsigned* r) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) r[i] = q[i] * 3 + q[(i + 7) % n];
}
__global__ void add(unsigned* p, unsigned k) { p[blockIdx.x * blockDim.x + threadIdx.x] += k; }

const char* kModule = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 p) {
  .reg .b64 %a, %b; .reg .b32 %t, %v;
  ld.param.u64 %a, [p];
  cvta.to.global.u64 %a, %a;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %b, %t, 4;
  add.s64 %a, %a, %b;
  ld.global.u32 %v, [%a];
  shl.b32 %v, %v, 1;
  st.global.u32 [%a], %v;
  ret;
})";

// A capture in global mode forbids other threads to wait; one in thread-local mode does not.
std::mutex nobody_waits;

struct Side {
  std::atomic<bool> stop{false};
  unsigned rounds = 0, wrong = 0;

  void run() {
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    while (!stop) {
      unsigned *d, *h;
      OK(cudaMalloc(&d, 64 << 20));
      OK(cudaMallocHost(&h, 8 << 20));
      OK(cudaMemsetAsync(d, 0, 1024 * 4, s));
      cudaGraph_t graph;
      cudaGraphExec_t exec;
      const bool global = rounds % 2 == 0;
      std::unique_lock<std::mutex> lock(nobody_waits, std::defer_lock);
      if (global) lock.lock();
      OK(cudaStreamBeginCapture(s, global ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal));
      for (unsigned k = 1; k <= 10; ++k) add<<<4, 256, 0, s>>>(d, k);
      OK(cudaStreamEndCapture(s, &graph));
      if (global) lock.unlock();
      OK(cudaGraphInstantiate(&exec, graph, 0));
      for (int k = 0; k < 3; ++k) OK(cudaGraphLaunch(exec, s));
      CUmodule module;
      CUfunction twice;
      if (cuModuleLoadData(&module, kModule) != CUDA_SUCCESS ||
          cuModuleGetFunction(&twice, module, "twice") != CUDA_SUCCESS) {
        std::fprintf(stderr, "the module does not load\n");
        std::exit(1);
      }
      void* arguments[] = {&d};
      if (cuLaunchKernel(twice, 1, 1, 1, 1024, 1, 1, 0, s, arguments, nullptr) != CUDA_SUCCESS) std::exit(1);
      OK(cudaMemcpyAsync(h, d, 1024 * 4, cudaMemcpyDeviceToHost, s));
      OK(cudaStreamSynchronize(s));
      for (unsigned i = 0; i < 1024; ++i) wrong += h[i] != 2 * 3 * 55;
      cuModuleUnload(module);
      OK(cudaGraphExecDestroy(exec));
      OK(cudaGraphDestroy(graph));
      OK(cudaFreeHost(h));
      OK(cudaFree(d));
      ++rounds;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
};

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const char* end = argc > 2 ? argv[2] : "";
  // Blocks of so many us; 0: all are there at once, and none can leave before the kernel's end.
  const long long grain = argc > 3 ? std::atoll(argv[3]) : 0;
  const unsigned blocks = grain > 0 ? static_cast<unsigned>(132 * 8 * 50'000 / grain) : 132;
  unsigned *p, *q, *r, *out;
  OK(cudaMalloc(&p, n * 4));
  OK(cudaMalloc(&q, n * 4));
  OK(cudaMalloc(&r, n * 4));
  OK(cudaMallocHost(&out, n * 4));
  cudaStream_t a, b;
  OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t done;
  OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  Side side;
  std::thread beside([&] { side.run(); });
  std::vector<unsigned> x(n), y(n);
  unsigned passes = 0, wrong = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (; passed() < seconds && (*end == '\0' || access(end, F_OK) != 0); ++passes) {
    first<<<blocks, 256, 0, a>>>(p, passes, grain > 0 ? grain * 1000 : 50'000'000);
    second<<<n / 256, 256, 0, a>>>(p, q);
    OK(cudaEventRecord(done, a));
    OK(cudaStreamWaitEvent(b, done, 0));
    third<<<n / 256, 256, 0, b>>>(q, r);
    OK(cudaMemcpyAsync(out, r, n * 4, cudaMemcpyDeviceToHost, b));
    {
      const std::lock_guard<std::mutex> lock(nobody_waits);
      OK(cudaStreamSynchronize(b));
    }
    for (unsigned i = 0; i < n; ++i)
      x[i] = (i * 2654435761u + passes) ^ (((i + 1) % n) * 2654435761u + passes);
    for (unsigned i = 0; i < n; ++i) wrong += out[i] != x[i] * 3 + x[(i + 7) % n];
  }
  const double took = passed();
  side.stop = true;
  beside.join();
  std::printf("riskiest: %u passes, %u wrong words, %.3f passes/s; beside: %u rounds, %u wrong words\n",
              passes, wrong, passes / took, side.rounds, side.wrong);
  return wrong + side.wrong == 0 ? 0 : 1;
}

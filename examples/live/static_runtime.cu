// A program with the CUDA runtime linked in that submits work in every way the runtime has: launches,
// extended and cooperative ones, graphs, copies and memsets of all shapes, host functions, the default
// streams, a per-thread stream. Prints sums that must not depend on how it was started. nvcc -arch=sm_90
// -std=c++17
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define OK(call)                                                                                 \
  do {                                                                                           \
    if (const cudaError_t e = (call); e != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (false)

__global__ void add(unsigned* p, unsigned n, unsigned k) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += k;
}
__global__ void add_together(unsigned* p, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
  cooperative_groups::this_grid().sync();
  if (i < n) p[i] *= 3;
}

int main() {
  constexpr unsigned n = 1 << 16;
  unsigned *p = nullptr, *q = nullptr, *host = nullptr;
  OK(cudaMalloc(&p, n * 4));
  OK(cudaMalloc(&q, n * 4));
  OK(cudaMallocHost(&host, n * 4));
  OK(cudaMemset(p, 0, n * 4));
  std::vector<unsigned> pageable(n, 7);
  OK(cudaMemcpy(q, pageable.data(), n * 4, cudaMemcpyHostToDevice));
  cudaStream_t s, t;
  OK(cudaStreamCreate(&s));
  OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  for (int i = 0; i < 100; ++i)
    add<<<n / 256, 256, 0, i % 3 == 0 ? nullptr : i % 3 == 1 ? s : t>>>(p, i % 3 == 2 ? 0 : n, i);
  cudaLaunchConfig_t config{};
  config.gridDim = n / 256;
  config.blockDim = 256;
  config.stream = s;
  for (int i = 0; i < 10; ++i) OK(cudaLaunchKernelEx(&config, add, p, n, 3u));
  unsigned together = 1 << 14;
  void* arguments[] = {&p, &together};
  OK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(add_together), dim3(together / 256), dim3(256),
                                 arguments, 0, s));
  OK(cudaStreamSynchronize(s));
  OK(cudaMemcpyAsync(host, p, n * 4, cudaMemcpyDeviceToHost, t));
  OK(cudaStreamSynchronize(t));
  unsigned long long sum = 0;
  for (unsigned i = 0; i < n; ++i) sum += host[i];
  OK(cudaMemcpy2D(q, 512, p, 1024, 512, 64, cudaMemcpyDeviceToDevice));
  OK(cudaMemset2D(q, 1024, 1, 100, 64));
  OK(cudaMemsetAsync(q + n / 2, 3, 4096, cudaStreamPerThread));
  OK(cudaMemcpyAsync(q + 100, p, 4096, cudaMemcpyDeviceToDevice, cudaStreamPerThread));
  OK(cudaStreamSynchronize(cudaStreamPerThread));

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 8; ++i) add<<<n / 256, 256, 0, t>>>(q, n, 1);
  OK(cudaMemcpyAsync(p, q, 4096, cudaMemcpyDeviceToDevice, t));
  OK(cudaStreamEndCapture(t, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphUpload(exec, t));
  for (int i = 0; i < 20; ++i) OK(cudaGraphLaunch(exec, t));

  std::atomic<int> called{0};
  OK(cudaLaunchHostFunc(
      t, [](void* c) { ++*static_cast<std::atomic<int>*>(c); }, &called));
  OK(cudaStreamSynchronize(t));
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      for (int i = 0; i < 50; ++i) add<<<4, 256, 0, cudaStreamPerThread>>>(p + k * 1024, 1024, 1);
      OK(cudaStreamSynchronize(cudaStreamPerThread));
    });
  for (std::thread& thread : threads) thread.join();
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(pageable.data(), p, n * 4, cudaMemcpyDeviceToHost));
  unsigned long long second = 0, third = 0;
  for (const unsigned v : pageable) second += v;
  OK(cudaMemcpy(pageable.data(), q, n * 4, cudaMemcpyDeviceToHost));
  for (const unsigned v : pageable) third += v;
  std::printf("static %llu %llu %llu %d\n", sum, second, third, called.load());
  OK(cudaStreamDestroy(s));
  OK(cudaStreamDestroy(t));
  OK(cudaFree(p));
  return 0;
}

// An urgent client for the experiments: jobs at random moments, each a few kernels and a copy out, checked.
// urgent JOBS MEAN_GAP_MS [FILE]: prints latencies and wrong results, and makes FILE at its end. nvcc
// -arch=sm_90 -std=c++17
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

__global__ void step(unsigned* p, unsigned k) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = p[i];
  for (int j = 0; j < 2000; ++j) v = v * 1664525u + k;
  p[i] = v;
}

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 100;
  const double gap = argc > 2 ? std::atof(argv[2]) : 10;
  constexpr unsigned n = 1 << 16;
  unsigned *p, *h;
  if (cudaMalloc(&p, n * 4) != cudaSuccess || cudaMallocHost(&h, n * 4) != cudaSuccess) return 1;
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  std::mt19937 random(7);
  std::exponential_distribution<double> wait(1 / gap);
  std::vector<double> took;
  unsigned wrong = 0, expected = 0;
  for (int job = -3; job < jobs; ++job) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(job < 0 ? 1 : wait(random)));
    const auto start = std::chrono::steady_clock::now();
    cudaMemsetAsync(p, 0, n * 4, s);
    for (unsigned k = 0; k < 10; ++k) step<<<n / 256, 256, 0, s>>>(p, 12345 + k);
    cudaMemcpyAsync(h, p, n * 4, cudaMemcpyDeviceToHost, s);
    if (cudaStreamSynchronize(s) != cudaSuccess) return 1;
    const auto end = std::chrono::steady_clock::now();
    if (job == -3) {
      for (unsigned k = 0; k < 10; ++k)
        for (int j = 0; j < 2000; ++j) expected = expected * 1664525u + 12345 + k;
    }
    for (unsigned i = 0; i < n; i += 97) wrong += h[i] != expected;
    if (job >= 0) took.push_back(std::chrono::duration<double, std::milli>(end - start).count());
  }
  std::sort(took.begin(), took.end());
  std::printf("urgent: %d jobs, %u wrong words, ms: p50 %.3f p99 %.3f most %.3f\n", jobs, wrong,
              took[took.size() / 2], took[took.size() * 99 / 100], took.back());
  if (argc > 3)
    if (FILE* f = std::fopen(argv[3], "w")) std::fclose(f);
  return wrong == 0 ? 0 : 1;
}

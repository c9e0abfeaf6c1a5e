// What the gate costs the thread that submits: launches of a kernel of 3 us, one batch by the driver's
// function and one by the look-alike's, by turns. Run it under `gangway exec`; without, both are the
// driver's. nvcc -arch=sm_90 -std=c++17 -lcuda
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void busy(long long ns) {
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < ns);
}

int main(int argc, char** argv) {
  const int batches = argc > 1 ? std::atoi(argv[1]) : 4000, batch = 100;
  cudaStream_t stream;
  cudaFunction_t function;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 1;
  if (cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(busy)) != cudaSuccess) return 1;
  using Launch = decltype(&cuLaunchKernel);
  void* real = dlopen("libgangway-real-cuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const Launch launches[2] = {
      real != nullptr ? reinterpret_cast<Launch>(dlsym(real, "cuLaunchKernel")) : &cuLaunchKernel,
      &cuLaunchKernel};
  std::printf("look-alike: %s\n", real != nullptr ? "yes" : "no");
  long long ns = 3000;
  void* parameters[] = {&ns};
  std::vector<double> each[2], differences;
  for (int b = 0; b < batches; ++b) {
    for (int k = 0; k < 2; ++k) {
      const int which = (b + k) % 2;
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < batch; ++i)
        if (launches[which](function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr) != CUDA_SUCCESS)
          return 1;
      const auto end = std::chrono::steady_clock::now();
      if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
      each[which].push_back(std::chrono::duration<double, std::nano>(end - start).count() / batch);
    }
    differences.push_back(each[1].back() - each[0].back());
  }
  std::sort(differences.begin(), differences.end());
  for (int which = 0; which < 2; ++which) {
    std::vector<double>& v = each[which];
    std::sort(v.begin(), v.end());
    std::printf("%s: ns a launch: least %.1f, 10th %.1f, median %.1f, 90th %.1f\n",
                which == 0 ? "driver" : "gate  ", v.front(), v[v.size() / 10], v[v.size() / 2],
                v[v.size() * 9 / 10]);
  }
  std::printf("median of differences %.1f ns\n", differences[differences.size() / 2]);
  return 0;
}

// Throttle: requests of one size, one after the other (NEON, section 5.1). Each is a kernel that keeps one
// block busy for so long, and the host waits for it. throttle MICROSECONDS [--requests N] [--sleep SHARE]
// [--streams N]
//   nvcc -O2 -arch=native -cudart static -o throttle throttle_program.cu
// Plain CUDA: nothing here knows of Gangway. Each request is an NVTX range `request`.
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define NEED(call)                                                \
  do {                                                            \
    if (const cudaError_t error = (call); error != cudaSuccess) { \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error));  \
      return 1;                                                   \
    }                                                             \
  } while (false)

__global__ void spin(unsigned long long ns) {
  unsigned long long now = 0, begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < ns);
}

int main(int argc, char** argv) {
  if (argc < 2 || std::atof(argv[1]) <= 0) {
    std::fprintf(stderr, "throttle MICROSECONDS [--requests N] [--sleep SHARE] [--streams N]\n");
    return 2;
  }
  const double us = std::atof(argv[1]);
  long requests = 1L << 60;
  double sleep = 0;  // of the time, between requests
  int streams = 1;   // with one request at a time on each
  for (int a = 2; a + 1 < argc; a += 2) {
    if (std::strcmp(argv[a], "--requests") == 0) requests = std::atol(argv[a + 1]);
    if (std::strcmp(argv[a], "--sleep") == 0) sleep = std::atof(argv[a + 1]);
    if (std::strcmp(argv[a], "--streams") == 0) streams = std::atoi(argv[a + 1]);
  }
  std::vector<cudaStream_t> all(static_cast<size_t>(streams));
  for (cudaStream_t& stream : all) NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto pause = std::chrono::duration<double, std::micro>(sleep < 1 ? us * sleep / (1 - sleep) : 0);
  for (long request = 0; request < requests; ++request) {
    nvtxRangePushA("request");
    for (const cudaStream_t stream : all)
      spin<<<1, 32, 0, stream>>>(static_cast<unsigned long long>(us * 1000));
    NEED(cudaGetLastError());
    for (const cudaStream_t stream : all) NEED(cudaStreamSynchronize(stream));
    nvtxRangePop();
    if (sleep > 0) std::this_thread::sleep_for(pause);
  }
  std::printf("%ld requests\n", requests);
  return 0;
}

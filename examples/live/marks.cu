// What it costs to know when a submission is over: a word that the GPU writes into a memory file shared with
// another process, or an event, behind each launch. Prints ns a launch, for the thread and until the GPU is
// done. nvcc -arch=sm_90 -std=c++17 -lcuda
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

__global__ void busy(long long ns) {
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < ns);
}

int main() {
  cudaFree(nullptr);
  const int file = memfd_create("marks", 0);
  if (ftruncate(file, 1 << 17) != 0) return 1;
  void* page = mmap(nullptr, 1 << 17, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  auto began = std::chrono::steady_clock::now();
  const CUresult pinned =
      cuMemHostRegister(page, 1 << 17, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  std::printf("pin a memory file of 128 KiB: result %d, %.0f us\n", pinned,
              std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
  CUdeviceptr where = 0;
  if (pinned != CUDA_SUCCESS || cuMemHostGetDevicePointer(&where, page, 0) != CUDA_SUCCESS) return 1;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::vector<CUevent> ring(64);
  for (CUevent& e : ring) cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
  const char* names[] = {"nothing", "write 64", "write 32", "event", "write 64 every 4th"};
  for (const int kernel : {3000, 20000})
    for (int mode = 0; mode < 5; ++mode) {
      std::vector<double> thread, device;
      for (int b = 0; b < 300; ++b) {
        const auto t0 = std::chrono::steady_clock::now();
        for (int i = 0; i < 100; ++i) {
          busy<<<1, 32, 0, stream>>>(kernel);
          if (mode == 1 || (mode == 4 && i % 4 == 3))
            cuStreamWriteValue64(stream, where + 64, b * 100 + i, 0);
          if (mode == 2) cuStreamWriteValue32(stream, where + 64, b * 100 + i, 0);
          if (mode == 3) cuEventRecord(ring[i % 64], stream);
        }
        const auto t1 = std::chrono::steady_clock::now();
        if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
        const auto t2 = std::chrono::steady_clock::now();
        thread.push_back(std::chrono::duration<double, std::nano>(t1 - t0).count() / 100);
        device.push_back(std::chrono::duration<double, std::nano>(t2 - t0).count() / 100);
      }
      std::sort(thread.begin(), thread.end());
      std::sort(device.begin(), device.end());
      std::printf("kernels of %d ns, %s: thread %.0f ns, until done %.0f ns a launch (medians)\n", kernel,
                  names[mode], thread[150], device[150]);
    }
  // How soon another thread sees the word.
  std::printf("last word %llu\n",
              static_cast<unsigned long long>(
                  *reinterpret_cast<volatile unsigned long long*>(static_cast<char*>(page) + 64)));
  return 0;
}

// A program with much state, and what its memory costs it. nvcc -arch=sm_90 -std=c++17 -lcuda
//
//   memory_program copies GIB          pinned copies of so much, one way and both at once; what pinning takes
//   memory_program allocations         how long allocation calls take
//   memory_program holds GIB SECONDS   a state of that size, work over it for so long: a line each second,
//   and
//                                      whether all of the state is right at the end
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

void need(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(result));
  std::exit(3);
}
#define NEED(call) need(call, #call)

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::size_t kGiB = std::size_t{1} << 30, kPiece = 64 << 20;

__global__ void fill(std::uint64_t* at, std::size_t words, std::uint64_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < words;
       i += std::size_t{gridDim.x} * blockDim.x)
    at[i] = (i + seed) * 0x9E3779B97F4A7C15ULL;
}

__global__ void check(const std::uint64_t* at, std::size_t words, std::uint64_t seed, std::uint64_t add,
                      unsigned long long* wrong) {
  unsigned long long found = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < words;
       i += std::size_t{gridDim.x} * blockDim.x)
    found += at[i] != (i + seed) * 0x9E3779B97F4A7C15ULL + add;
  if (found != 0) atomicAdd(wrong, found);
}

// Work bound by arithmetic, about `rounds` times a fixed time, and a change of a part of the state.
__global__ void work(std::uint64_t* at, std::size_t words, int rounds, float* sink) {
  float a = 1.0f + threadIdx.x, b = 0.5f;
  for (int r = 0; r < rounds; ++r)
    for (int k = 0; k < 256; ++k) a = fmaf(a, 0.999f, b);
  if (a == 12345.0f) *sink = a;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < words;
       i += std::size_t{gridDim.x} * blockDim.x)
    at[i] += 1;
}

char* pinned(std::size_t bytes, bool registered, double& seconds) {
  const double began = now();
  void* at = nullptr;
  if (!registered) {
    NEED(cudaHostAlloc(&at, bytes, cudaHostAllocPortable));
    seconds = now() - began;
    return static_cast<char*>(at);
  }
  at = mmap(nullptr, bytes + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
            -1, 0);
  char* begin = reinterpret_cast<char*>((reinterpret_cast<std::uint64_t>(at) + (2 << 20) - 1) >> 21 << 21);
  madvise(begin, bytes, MADV_HUGEPAGE);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([=] {
      for (std::size_t i = t * (bytes / 8); i < (t + 1) * (bytes / 8); i += 4096)
        *static_cast<volatile char*>(begin + i) = 0;
    });
  for (std::thread& thread : threads) thread.join();
  const double touched = now();
  NEED(cudaHostRegister(begin, bytes, cudaHostRegisterPortable));
  seconds = now() - began;
  std::printf("touching %.3f s, registering %.3f s\n", touched - began, now() - touched);
  return begin;
}

int copies(std::size_t gib) {
  const std::size_t bytes = gib * kGiB / 2;  // each way
  double by_register = 0, by_alloc = 0;
  char* out = pinned(bytes, true, by_register);
  char* in = pinned(std::min<std::size_t>(bytes, 2 * kGiB), false, by_alloc);
  std::printf("pinning: %.3f s a GiB registered, %.3f s a GiB allocated\n",
              by_register / (bytes / double(kGiB)),
              by_alloc / (std::min<std::size_t>(bytes, 2 * kGiB) / double(kGiB)));
  char *a = nullptr, *b = nullptr;
  NEED(cudaMalloc(&a, bytes));
  NEED(cudaMalloc(&b, bytes));
  cudaStream_t streams[2];
  for (auto& stream : streams) NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::size_t window = std::min<std::size_t>(bytes, 2 * kGiB);
  const auto run = [&](bool leave, bool come) {
    NEED(cudaDeviceSynchronize());
    const double began = now();
    for (std::size_t i = 0; i < bytes; i += kPiece) {
      if (leave) NEED(cudaMemcpyAsync(out + i, a + i, kPiece, cudaMemcpyDeviceToHost, streams[0]));
      if (come) NEED(cudaMemcpyAsync(b + i, in + i % window, kPiece, cudaMemcpyHostToDevice, streams[1]));
    }
    NEED(cudaDeviceSynchronize());
    return now() - began;
  };
  for (int round = 0; round < 2; ++round) {
    const double leave = run(true, false), come = run(false, true), both = run(true, true);
    std::printf("{\"gib_each_way\": %.1f, \"out_gb_s\": %.2f, \"in_gb_s\": %.2f, \"both_gb_s_each\": %.2f}\n",
                bytes / double(kGiB), bytes / leave / 1e9, bytes / come / 1e9, bytes / both / 1e9);
  }
  return 0;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int allocations() {
  NEED(cudaFree(nullptr));
  for (const std::size_t bytes :
       {std::size_t{512}, std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{2} << 20,
        std::size_t{20} << 20, std::size_t{64} << 20, std::size_t{256} << 20, kGiB, 8 * kGiB}) {
    std::vector<double> take, give;
    const std::size_t count = std::min<std::size_t>(64, std::max<std::size_t>(2, 16 * kGiB / bytes));
    for (int round = 0; round < 3; ++round) {
      std::vector<void*> all(count);
      for (void*& at : all) {
        const double began = now();
        NEED(cudaMalloc(&at, bytes));
        take.push_back(now() - began);
      }
      for (void* at : all) {
        const double began = now();
        NEED(cudaFree(at));
        give.push_back(now() - began);
      }
    }
    std::printf("{\"bytes\": %zu, \"malloc_us\": %.2f, \"free_us\": %.2f}\n", bytes, median(take) * 1e6,
                median(give) * 1e6);
    std::fflush(stdout);
  }
  cudaStream_t stream;
  NEED(cudaStreamCreate(&stream));
  std::vector<double> take, give;
  for (int k = 0; k < 2000; ++k) {
    void* at = nullptr;
    const double began = now();
    NEED(cudaMallocAsync(&at, 1 << 20, stream));
    const double taken = now();
    NEED(cudaFreeAsync(at, stream));
    take.push_back(taken - began);
    give.push_back(now() - taken);
  }
  std::printf("{\"bytes\": 1048576, \"malloc_async_us\": %.2f, \"free_async_us\": %.2f}\n",
              median(take) * 1e6, median(give) * 1e6);
  return 0;
}

int holds(double gib, double seconds) {
  NEED(cudaFree(nullptr));
  const double began = now();
  std::vector<std::uint64_t*> parts;
  std::vector<std::size_t> sizes;
  for (std::size_t left = static_cast<std::size_t>(gib * kGiB); left > 0;) {
    const std::size_t bytes = std::min<std::size_t>(left, 3 * kGiB / 2);
    std::uint64_t* at = nullptr;
    NEED(cudaMalloc(&at, bytes));
    fill<<<1024, 256>>>(at, bytes / 8, parts.size());
    parts.push_back(at);
    sizes.push_back(bytes / 8);
    left -= bytes;
  }
  float* sink = nullptr;
  unsigned long long* wrong = nullptr;
  NEED(cudaMalloc(&sink, 4));
  NEED(cudaMalloc(&wrong, 8));
  NEED(cudaMemset(wrong, 0, 8));
  NEED(cudaDeviceSynchronize());
  std::printf("holds %.1f after %.3f s\n", gib, now() - began);
  std::fflush(stdout);
  std::vector<std::uint64_t> changes(parts.size());
  const double start = now();
  long jobs = 0, second = 0;
  double most = 0;
  for (double last = start; last - start < seconds;) {
    const std::size_t part = static_cast<std::size_t>(jobs) % parts.size();
    for (int k = 0; k < 4; ++k) work<<<1056, 256>>>(parts[part], k == 0 ? sizes[part] : 0, 1500, sink);
    NEED(cudaDeviceSynchronize());
    ++changes[part];
    ++jobs;
    const double end = now();
    most = std::max(most, end - last);
    last = end;
    if (end - start > second + 1) {
      second = static_cast<long>(end - start);
      std::printf("{\"t\": %.3f, \"jobs\": %ld, \"longest_ms\": %.3f}\n", end - start, jobs, most * 1e3);
      std::fflush(stdout);
      most = 0;
    }
  }
  const double worked = now() - start;
  for (std::size_t p = 0; p < parts.size(); ++p)
    check<<<1024, 256>>>(parts[p], sizes[p], p, changes[p], wrong);
  unsigned long long found = 0;
  NEED(cudaMemcpy(&found, wrong, 8, cudaMemcpyDeviceToHost));
  std::printf("{\"jobs\": %ld, \"began\": %.3f, \"seconds\": %.3f, \"wrong_words\": %llu}\n", jobs, start,
              worked, found);
  return found == 0 ? 0 : 4;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "copies" && argc > 2) return copies(std::strtoull(argv[2], nullptr, 10));
  if (what == "allocations") return allocations();
  if (what == "holds" && argc > 3) return holds(std::atof(argv[2]), std::atof(argv[3]));
  return 2;
}

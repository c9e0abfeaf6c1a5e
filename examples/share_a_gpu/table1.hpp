// What the seven programs share: arguments, jobs as NVTX ranges `job`, data that follow from their index
// alone, and checks of all of it. Plain CUDA, independent of Gangway.
#pragma once

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../cuda_program.hpp"

namespace table1 {

using Count = unsigned long long;  // what atomicAdd adds

using cuda_program::drawn, cuda_program::fail, cuda_program::mixed, cuda_program::program,
    cuda_program::Sample;

// After each launch: waits for it, as Rodinia's programs do, so that little is queued.
#define LAUNCHED()                 \
  do {                             \
    NEED(cudaGetLastError());      \
    NEED(cudaDeviceSynchronize()); \
  } while (false)

// Device memory, zeros at first.
template <typename T>
class Buffer : public cuda_program::DeviceMemory<T> {
 public:
  explicit Buffer(std::size_t size) : cuda_program::DeviceMemory<T>(size) {
    NEED(cudaMemset(this->data(), 0, this->bytes()));
  }
  T at(std::size_t i) const { return this->part(i, 1)[0]; }
};

constexpr int kThreads = 256;

__device__ inline std::size_t first_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t all_threads() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

// Blocks for n elements; kernels go on with what is beyond the grid.
inline unsigned blocks(std::size_t n, std::size_t each = kThreads) {
  return static_cast<unsigned>(std::clamp<std::size_t>((n + each - 1) / each, 1, 1 << 20));
}

template <typename T, typename Value>
__global__ void fill(T* at, std::size_t n, Value value) {
  for (std::size_t i = first_index(); i < n; i += all_threads()) at[i] = value(i);
}

template <typename T, typename Value>
__global__ void differ(const T* at, std::size_t n, Value value, Count* found) {
  Count mine = 0;
  for (std::size_t i = first_index(); i < n; i += all_threads())
    if (!(at[i] == value(i))) ++mine;
  if (mine != 0) atomicAdd(found, mine);
}

__global__ void add_up(const std::uint32_t* words, std::size_t n, Count* sum) {
  Count mine = 0;
  for (std::size_t i = first_index(); i < n; i += all_threads()) mine += mixed(mixed(i) ^ words[i]);
  atomicAdd(sum, mine);
}

// value(i) is element i.
template <typename T, typename Value>
void fill_all(Buffer<T>& buffer, Value value) {
  fill<<<blocks(buffer.size()), kThreads>>>(buffer.data(), buffer.size(), value);
  LAUNCHED();
}

// Ends the program unless all elements are as they should be.
template <typename T, typename Value>
void need_all(const char* what, const Buffer<T>& buffer, std::size_t n, Value value) {
  Buffer<Count> found(1);
  differ<<<std::min(blocks(n), 4096U), kThreads>>>(buffer.data(), n, value, found.data());
  LAUNCHED();
  if (const Count wrong = found.at(0); wrong != 0) fail("%llu of %zu %s are wrong", wrong, n, what);
}

// Of all bytes, and of where they are.
template <typename T>
std::uint64_t checksum(const Buffer<T>& buffer) {
  static_assert(sizeof(T) % 4 == 0);
  Buffer<Count> sum(1);
  const std::size_t words = buffer.bytes() / 4;
  add_up<<<std::min(blocks(words), 4096U), kThreads>>>(reinterpret_cast<const std::uint32_t*>(buffer.data()),
                                                       words, sum.data());
  LAUNCHED();
  return sum.at(0);
}

inline void need(bool right, const char* what, std::size_t at, double found, double expected) {
  if (!right) fail("%s %zu is %.9g, expected %.9g", what, at, found, expected);
}

class Problem {
 public:
  virtual ~Problem() = default;
  // The next rounds of its work; after the problem's last round it begins again.
  virtual void job(long rounds) = 0;
  virtual void check(Sample& sample) = 0;  // fails where a result is wrong
  virtual std::uint64_t result() = 0;      // of all results so far
};

struct Options {
  double gib = 28, seconds = 0;
  long jobs = 10, rounds = 0, check = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(gib * (1 << 30)); }
};

inline Options read(int argc, char** argv, long whole) {
  Options options;
  options.rounds = whole;
  const auto usage = [whole] {
    std::fprintf(stderr,
                 "%s [option value]...\n"
                 "  --gib X       device memory that it takes, in GiB (28)\n"
                 "  --jobs N      number of jobs (10)\n"
                 "  --seconds S   run jobs for this long instead (0: --jobs decides)\n"
                 "  --rounds N    rounds of work in a job (%ld: the whole problem)\n"
                 "  --check N     check results after every Nth job too (0: only after the last)\n",
                 program, whole);
    std::exit(2);
  };
  for (int a = 1; a < argc; a += 2) {
    const std::string name = argv[a];
    char* end = nullptr;
    const double value = a + 1 < argc ? std::strtod(argv[a + 1], &end) : -1;
    if (end == nullptr || end == argv[a + 1] || *end != 0 || !(value >= 0 && value <= 1e12)) usage();
    if (name == "--gib" && value > 0 && value <= 1024)
      options.gib = value;
    else if (name == "--seconds")
      options.seconds = value;
    else if (name == "--jobs" && value >= 1)
      options.jobs = static_cast<long>(value);
    else if (name == "--rounds" && value >= 1)
      options.rounds = static_cast<long>(value);
    else if (name == "--check")
      options.check = static_cast<long>(value);
    else
      usage();
  }
  return options;
}

// One line on stdout, the same for the same arguments; times on stderr. `whole`: rounds of the whole problem.
template <typename Made>
int run(const char* name, long whole, int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  program = name;
  const Options options = read(argc, argv, whole);
  NEED(cudaFree(nullptr));
  Made made(options.bytes());
  Problem& problem = made;
  Sample sample(7);
  std::vector<double> ms;
  const auto began = Clock::now();
  const auto through = [&](long job) {
    if (options.seconds > 0)
      return std::chrono::duration<double>(Clock::now() - began).count() >= options.seconds;
    return job >= options.jobs;
  };
  for (long job = 1;; ++job) {
    const auto begin = Clock::now();
    nvtxRangePushA("job");
    problem.job(options.rounds);
    nvtxRangePop();
    if (ms.size() < 100'000)
      ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    const bool last = through(job);
    if (last || (options.check > 0 && job % options.check == 0)) problem.check(sample);
    if (last) break;
  }
  std::sort(ms.begin(), ms.end());
  std::fprintf(stderr, "%s: %zu jobs took %.3f ms (least), %.3f (median), %.3f (most)\n", name, ms.size(),
               ms.front(), ms[ms.size() / 2], ms.back());
  if (options.seconds > 0)
    std::printf("%s: right\n", name);  // how many jobs there were is not the same each time
  else
    std::printf("%s: %ld jobs, result %016" PRIx64 "\n", name, options.jobs, problem.result());
  return 0;
}

}  // namespace table1

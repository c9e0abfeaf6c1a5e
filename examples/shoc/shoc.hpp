// What the eleven programs share: their arguments, jobs as NVTX ranges `job`, and how outputs are checked.
// Plain CUDA: nothing here knows of Gangway.
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
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../cuda_program.hpp"

namespace shoc {

using cuda_program::drawn, cuda_program::fail, cuda_program::mixed, cuda_program::program,
    cuda_program::Sample;

// Device memory.
template <typename T>
class Buffer : public cuda_program::DeviceMemory<T> {
 public:
  using cuda_program::DeviceMemory<T>::DeviceMemory;
  explicit Buffer(const std::vector<T>& values) : cuda_program::DeviceMemory<T>(values.size()) {
    this->put(values);
  }
  std::vector<T> all() const { return this->part(0, this->size()); }

  // Fills it with the values, over and over again.
  void repeat(const std::vector<T>& values) {
    NEED(cudaMemcpy(this->data(), values.data(), sizeof(T) * std::min(this->size(), values.size()),
                    cudaMemcpyHostToDevice));
    for (std::size_t filled = values.size(); filled < this->size();) {
      const std::size_t more = std::min(this->size() - filled, filled);
      NEED(cudaMemcpy(this->data() + filled, this->data(), more * sizeof(T), cudaMemcpyDeviceToDevice));
      filled += more;
    }
  }
};

// A prime, so that a pattern of this length shows every block of the grid other data.
constexpr std::size_t kPattern = 16'777'213;

template <typename T>
std::vector<T> pattern(std::uint64_t seed, std::uint64_t below, std::size_t size = kPattern) {
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<T>(mixed(seed * kPattern + i) % below);
  return values;
}

// body(first, end) on all cores.
template <typename Body>
void in_parallel(std::size_t count, const Body& body) {
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t)
    running.emplace_back(
        [&body, first = count * t / threads, end = count * (t + 1) / threads] { body(first, end); });
  for (std::thread& each : running) each.join();
}

inline void need_close(const char* what, std::size_t at, double found, double expected, double tolerance) {
  if (std::abs(found - expected) > tolerance * std::max(1.0, std::abs(expected)) || std::isnan(found))
    fail("%s %zu is %.9g, expected %.9g", what, at, found, expected);
}

template <typename T>
void need_equal(const char* what, std::size_t at, T found, T expected) {
  if (!(found == expected))
    fail("%s %zu is %.17g, expected %.17g", what, at, static_cast<double>(found),
         static_cast<double>(expected));
}

struct Region {
  void* data;
  std::size_t bytes;
};
template <typename T>
Region region(const Buffer<T>& of) {
  return {of.data(), of.bytes()};
}

class Benchmark {
 public:
  virtual ~Benchmark() = default;
  virtual void launch() = 0;                        // a job, on the default stream
  virtual std::vector<Region> outputs() const = 0;  // what it writes
  virtual void check(Sample& sample) = 0;           // against what the CPU computes; fails where they differ
};

struct Options {
  long jobs = 10;
  long check = 0;
  double scale = 1, think_ms = 0;
  std::uint64_t seed = 0;
};

// How much of something at this scale; a multiple of `unit`, and at least that.
inline std::size_t scaled(double amount, double scale, std::size_t unit = 1) {
  return std::max<std::size_t>(1, std::llround(amount * scale / static_cast<double>(unit))) * unit;
}

inline Options read(int argc, char** argv) {
  Options options;
  options.seed = static_cast<std::uint64_t>(std::random_device()()) << 16 ^ std::random_device()();
  const auto usage = [] {
    std::fprintf(stderr,
                 "%s [option value]...\n"
                 "  --jobs N      how many (10)\n"
                 "  --scale X     of a job's length (1; at most 2)\n"
                 "  --think MS    that the host sleeps before each job (0)\n"
                 "  --check N     checks every so manieth job's output, whose memory is overwritten before "
                 "(0: the last job's)\n"
                 "  --seed N      of the sample that is checked (default: a new one, said on stderr)\n",
                 program);
    std::exit(2);
  };
  for (int a = 1; a < argc; a += 2) {
    const std::string name = argv[a];
    char* end = nullptr;
    const double value = a + 1 < argc ? std::strtod(argv[a + 1], &end) : -1;
    if (end == nullptr || end == argv[a + 1] || *end != 0 || !(value >= 0 && value <= 1e15)) usage();
    if (name == "--jobs" && value >= 1)
      options.jobs = static_cast<long>(value);
    else if (name == "--scale" && value > 0 && value <= 2)
      options.scale = value;
    else if (name == "--think")
      options.think_ms = value;
    else if (name == "--check")
      options.check = static_cast<long>(value);
    else if (name == "--seed")
      options.seed = static_cast<std::uint64_t>(value);
    else
      usage();
  }
  return options;
}

// Of bytes in order, eight at a time.
class Hash {
 public:
  void take(const std::vector<std::uint64_t>& words) {
    for (const std::uint64_t word : words)
      value_ = (value_ ^ word) * 0x9FB21C651E98DF25, value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x243F6A8885A308D3;
};

inline void add(Hash& hash, const std::vector<Region>& outputs) {
  constexpr std::size_t kChunk = std::size_t{64} << 20;
  std::vector<std::uint64_t> words;
  for (const Region& output : outputs)
    for (std::size_t first = 0; first < output.bytes; first += kChunk) {
      const std::size_t bytes = std::min(kChunk, output.bytes - first);
      words.assign((bytes + 7) / 8, 0);
      NEED(cudaMemcpy(words.data(), static_cast<char*>(output.data) + first, bytes, cudaMemcpyDeviceToHost));
      hash.take(words);
    }
}

// One line on stdout, the same for the same arguments; the sample's seed and times on stderr.
template <typename Made>
int run(const char* name, int argc, char** argv) {
  program = name;
  const Options options = read(argc, argv);
  NEED(cudaFree(nullptr));
  Made made(options.scale);
  Benchmark& benchmark = made;
  NEED(cudaDeviceSynchronize());
  Sample sample(options.seed);
  std::fprintf(stderr, "%s: sample of seed %" PRIu64 "\n", name, options.seed);
  Hash hash;
  std::vector<double> ms;
  for (long job = 0; job < options.jobs; ++job) {
    const bool checked = options.check > 0 ? (job + 1) % options.check == 0 : job + 1 == options.jobs;
    if (checked)
      for (const Region& output : benchmark.outputs()) NEED(cudaMemset(output.data, 0xA5, output.bytes));
    if (options.think_ms > 0)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.think_ms));
    const auto begin = std::chrono::steady_clock::now();
    nvtxRangePushA("job");
    benchmark.launch();
    NEED(cudaGetLastError());
    NEED(cudaDeviceSynchronize());
    nvtxRangePop();
    if (ms.size() < 100'000)
      ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    if (!checked) continue;
    benchmark.check(sample);
    add(hash, benchmark.outputs());
  }
  std::sort(ms.begin(), ms.end());
  std::fprintf(stderr, "%s: jobs took %.3f ms (least), %.3f (median), %.3f (most)\n", name, ms.front(),
               ms[ms.size() / 2], ms.back());
  std::printf("%s: %ld jobs, output %016" PRIx64 "\n", name, options.jobs, hash.value());
  return 0;
}

}  // namespace shoc

// Thrust and CUB, as programs use them: each result against what the CPU computes.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

namespace {

#define NEED(call)                                                                      \
  do {                                                                                  \
    if (const cudaError_t error = (call); error != cudaSuccess)                         \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)), std::exit(1); \
  } while (false)

using Words = std::vector<std::uint32_t>;

Words drawn(std::size_t count, std::uint32_t seed, std::uint32_t below) {
  Words made(count);
  for (std::uint32_t& each : made) each = (seed = seed * 1664525 + 1013904223) >> 8, each %= below;
  return made;
}

void need(bool same, const char* what, int pass) {
  if (!same) std::printf("pass %d: %s is wrong\n", pass, what), std::exit(1);
}

Words back(const thrust::device_vector<std::uint32_t>& of) {
  Words made(of.size());
  thrust::copy(of.begin(), of.end(), made.begin());
  return made;
}

struct Odd {
  __host__ __device__ bool operator()(std::uint32_t x) const { return x % 2 != 0; }
};

void pass(int number, std::size_t count) {
  Words host = drawn(count, static_cast<std::uint32_t>(number), 5000), expected(count);
  thrust::device_vector<std::uint32_t> device(host.begin(), host.end()), other(count);

  need(thrust::reduce(device.begin(), device.end(), 0U) == std::accumulate(host.begin(), host.end(), 0U),
       "reduce", number);
  thrust::inclusive_scan(device.begin(), device.end(), other.begin());
  std::partial_sum(host.begin(), host.end(), expected.begin());
  need(back(other) == expected, "inclusive_scan", number);

  const auto odd = thrust::copy_if(device.begin(), device.end(), other.begin(), Odd());
  Words odd_ones;
  std::copy_if(host.begin(), host.end(), std::back_inserter(odd_ones), Odd());
  other.resize(static_cast<std::size_t>(odd - other.begin()));
  need(back(other) == odd_ones, "copy_if", number);

  thrust::sort(device.begin(), device.end());
  std::sort(host.begin(), host.end());
  need(back(device) == host, "sort", number);

  std::size_t bytes = 0;
  thrust::device_vector<std::uint32_t> histogram(64);
  const int items = static_cast<int>(count);
  NEED(cub::DeviceHistogram::HistogramEven(nullptr, bytes, device.data().get(), histogram.data().get(), 65,
                                           0U, 5000U, items));
  thrust::device_vector<std::uint8_t> room(bytes);
  NEED(cub::DeviceHistogram::HistogramEven(room.data().get(), bytes, device.data().get(),
                                           histogram.data().get(), 65, 0U, 5000U, items));
  const Words bins = back(histogram);
  need(std::accumulate(bins.begin(), bins.end(), 0U) == count, "HistogramEven", number);

  device.erase(thrust::unique(device.begin(), device.end()), device.end());
  host.erase(std::unique(host.begin(), host.end()), host.end());
  need(back(device) == host, "unique", number);
}

}  // namespace

int main(int argc, char** argv) {
  const int passes = argc > 1 ? std::atoi(argv[1]) : 3;
  const std::size_t count = argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 20'000;
  for (int p = 0; p < passes; ++p) pass(p, count + static_cast<std::size_t>(p));
  std::printf("libraries: %d passes of %zu\n", passes, count);
}

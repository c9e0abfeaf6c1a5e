// What the CUDA programs of shoc/ and share_a_gpu/ share. Plain CUDA, independent of Gangway.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace cuda_program {

inline const char* program = "program";

// Ends the program with one line on stderr.
[[noreturn]] inline void fail(const char* format, ...) {
  std::fprintf(stderr, "%s: ", program);
  va_list values;
  va_start(values, format);
  std::vfprintf(stderr, format, values);
  va_end(values);
  std::fputc('\n', stderr);
  std::exit(1);
}

#define NEED(call)                                                    \
  do {                                                                \
    if (const cudaError_t error = (call); error != cudaSuccess)       \
      cuda_program::fail("%s: %s", #call, cudaGetErrorString(error)); \
  } while (false)

// Device memory.
template <typename T>
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t size) : size_(size) { NEED(cudaMalloc(&data_, bytes())); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  // The first elements.
  void put(const std::vector<T>& values) {
    NEED(cudaMemcpy(data_, values.data(), sizeof(T) * values.size(), cudaMemcpyHostToDevice));
  }
  std::vector<T> part(std::size_t first, std::size_t count) const {
    std::vector<T> values(count);
    NEED(cudaMemcpy(values.data(), data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// Numbers that follow from their index alone, so that no copy is needed.
__host__ __device__ inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Where results are looked at by the host.
using Sample = std::mt19937_64;
inline std::size_t drawn(Sample& sample, std::size_t below) { return sample() % below; }

}  // namespace cuda_program

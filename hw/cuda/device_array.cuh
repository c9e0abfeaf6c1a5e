// Arrays in device memory for the built-in problems.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hw/cuda/preemptible.cuh"
#include "hw/kernels/cuda_problem.hpp"
#include "hw/kernels/outputs.hpp"
#include "hw/kernels/written.hpp"
#include "models/quantity.hpp"

namespace gangway {

// Throws RunError if a CUDA call failed.
inline void cuda_check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise a later call would report this error again
  throw RunError(std::string(call) + ": " + cudaGetErrorString(code));
}

// Turns errors of preemptible.cuh into RunError.
template <typename Call>
auto carried_out(Call call) try {
  return call();
} catch (const preemptible::Error& error) {
  throw RunError(error.what());
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::uint64_t elements) : elements_(elements) {
    if (elements == 0) return;
    const cudaError_t code = cudaMalloc(&data_, bytes());
    if (code == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      std::size_t free = 0, all = 0;
      cuda_check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
      throw RunError("out of device memory: asked for " + text(bytes()) + ", " + text(free) + " of " +
                     text(all) + " are free");
    }
    cuda_check(code, "cudaMalloc");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::uint64_t size() const { return elements_; }
  std::uint64_t bytes() const { return elements_ * sizeof(T); }

  // Waits.
  void fill_bytes(int value) {
    cuda_check(cudaMemset(data_, value, bytes()), "cudaMemset");
    cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  // Calls `each(values, first, count)` for consecutive parts until one returns a non-empty text.
  template <typename Each>
  std::string in_parts(Each each) const {
    constexpr std::uint64_t kPart = (std::uint64_t{256} << 20) / sizeof(T);
    std::vector<T> part(std::min(kPart, elements_));
    for (std::uint64_t first = 0; first < elements_; first += kPart) {
      const std::uint64_t count = std::min(kPart, elements_ - first);
      cuda_check(cudaMemcpy(part.data(), data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost),
                 "cudaMemcpy of outputs");
      std::string difference = each(part.data(), first, count);
      if (!difference.empty()) return difference;
    }
    return {};
  }

 private:
  static std::string text(std::uint64_t bytes) { return to_text(Bytes{static_cast<std::int64_t>(bytes)}); }

  std::uint64_t elements_;
  T* data_ = nullptr;
};

template <typename T>
OutputMemory memory_of(const DeviceArray<T>& array) {
  return {array.data(), array.bytes()};
}

// Sets element i of the array to value(i). Waits.
template <typename T, typename Value>
__global__ void fill_kernel(T* data, std::uint64_t elements, Value value) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += stride)
    data[i] = value(i);
}
template <typename T, typename Value>
void fill(const DeviceArray<T>& array, Value value) {
  if (array.size() == 0) return;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(4096, (array.size() + 255) / 256));
  fill_kernel<<<blocks, 256>>>(array.data(), array.size(), value);
  cuda_check(cudaGetLastError(), "launch of fill_kernel");
  cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

struct Reals {
  Inputs inputs;
  __device__ float operator()(std::uint64_t i) const { return inputs.real(i); }
};

// A problem whose kernel is `Form` (a preemptible::Kernel). Derived classes bind its arguments.
template <typename Form>
class FormedProblem : public CudaProblem {
 public:
  FormedProblem(dim3 grid, dim3 block) : form_(made(grid, block)) {}
  std::uint32_t room(PollingForm polling) const override { return form_.room(polling); }
  KernelForms forms(PollingForm polling) const override {
    return {told(form_.original_resources()), told(form_.persistent_resources(polling))};
  }

 protected:
  // Launches form_ with these arguments.
  template <typename... A>
  void start(preemptible::Session& session, BlockRange range, A... arguments) const {
    form_.launch(session, static_cast<std::uint32_t>(range.first.count),
                 static_cast<std::uint32_t>(range.last.count), arguments...);
  }
  const Form& form() const { return form_; }

 private:
  static KernelResources told(const typename Form::Resources& found) {
    return {found.registers, {static_cast<std::int64_t>(found.shared_memory)}, found.blocks_per_sm};
  }
  static Form made(dim3 grid, dim3 block) try {
    return Form(grid, block);
  } catch (const std::exception& error) {
    throw RunError(error.what());
  }
  Form form_;
};

}  // namespace gangway

// Merges a kernel's outputs from several GPUs on the first one (Share-a-GPU, IV).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hw/cuda/device_array.cuh"
#include "hw/cuda/or_into.hpp"

namespace gangway {

static __global__ void or_into_kernel(unsigned char* into, const unsigned char* from, std::uint64_t bytes) {
  or_share(into, from, bytes, std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
           std::uint64_t{gridDim.x} * blockDim.x);
}

// A stream on one GPU that merges the others' outputs into its own.
class MergedOutputs {
 public:
  // `gpu` becomes the current device. Other GPUs' memory is read over NVLink or PCIe where they can reach
  // each other, else through the host.
  MergedOutputs(int gpu, const std::vector<int>& others) : gpu_(gpu) {
    cuda_check(cudaSetDevice(gpu), "cudaSetDevice");
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_check(cudaEventCreateWithFlags(&over_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    for (const int other : others) {
      int reaches = 0;
      cuda_check(cudaDeviceCanAccessPeer(&reaches, gpu, other), "cudaDeviceCanAccessPeer");
      if (reaches != 0) {
        const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
        if (code != cudaErrorPeerAccessAlreadyEnabled) cuda_check(code, "cudaDeviceEnablePeerAccess");
        (void)cudaGetLastError();
      }
      reached_.push_back(reaches != 0);
      any_far_ = any_far_ || reaches == 0;
    }
    if (any_far_) staging_ = std::make_unique<DeviceArray<unsigned char>>(kStaging);
  }
  ~MergedOutputs() {
    cudaSetDevice(gpu_);
    cudaEventDestroy(over_);
    cudaStreamDestroy(stream_);
  }
  MergedOutputs(const MergedOutputs&) = delete;
  MergedOutputs& operator=(const MergedOutputs&) = delete;

  // Exactly these bytes.
  void take(int its_gpu, const OutputMemory& into, const OutputMemory& from, const WrittenBytes& part) {
    if (part.first >= part.last) return;
    cuda_check(cudaMemcpyPeerAsync(static_cast<char*>(into.at) + part.first, gpu_,
                                   static_cast<const char*>(from.at) + part.first, its_gpu,
                                   part.last - part.first, stream_),
               "cudaMemcpyPeerAsync of outputs");
  }
  // All of an output, where both versions began as zeros. `other`: index among the other GPUs.
  void join(std::size_t other, int its_gpu, const OutputMemory& into, const OutputMemory& from) {
    auto* to = static_cast<unsigned char*>(into.at);
    const auto* at = static_cast<const unsigned char*>(from.at);
    if (reached_[other]) return or_into(to, at, into.bytes);
    for (std::uint64_t first = 0; first < into.bytes; first += kStaging) {
      const std::uint64_t bytes = std::min(kStaging, into.bytes - first);
      cuda_check(cudaMemcpyPeerAsync(staging_->data(), gpu_, at + first, its_gpu, bytes, stream_),
                 "cudaMemcpyPeerAsync of outputs");
      or_into(to + first, staging_->data(), bytes);
    }
  }
  void ordered() { cuda_check(cudaEventRecord(over_, stream_), "cudaEventRecord"); }
  bool over() const {
    const cudaError_t code = cudaEventQuery(over_);
    if (code == cudaErrorNotReady) return false;
    cuda_check(code, "cudaEventQuery");
    return true;
  }

 private:
  static constexpr std::uint64_t kStaging = std::uint64_t{64} << 20;

  void or_into(unsigned char* into, const unsigned char* from, std::uint64_t bytes) const {
    if (bytes == 0) return;
    const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(2048, bytes / 4096 + 1));
    or_into_kernel<<<blocks, 256, 0, stream_>>>(into, from, bytes);
    cuda_check(cudaGetLastError(), "launch of or_into_kernel");
  }

  const int gpu_;
  std::vector<bool> reached_;  // by other
  bool any_far_ = false;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t over_ = nullptr;
  std::unique_ptr<DeviceArray<unsigned char>> staging_;
};

}  // namespace gangway

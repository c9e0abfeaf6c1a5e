// Copies of the clients' data. Only their duration matters, so long copies reuse a smaller buffer.
#pragma once

#include "hw/cuda/device_array.cuh"

namespace gangway {

// Copies in one direction. Only the constructor and the destructor wait. All members throw RunError.
class CopyLine {
 public:
  // Allocates room for copies of up to `longest`.
  CopyLine(cudaMemcpyKind kind, Bytes longest)
      : kind_(kind), room_(std::min(longest.count, kRoom)), there_(room_) {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_check(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    if (room_ > 0)
      cuda_check(cudaHostAlloc(&here_, static_cast<std::size_t>(room_), cudaHostAllocDefault),
                 "cudaHostAlloc of a staging buffer");
  }
  ~CopyLine() {
    cudaFreeHost(here_);
    cudaEventDestroy(copied_);
    cudaStreamDestroy(stream_);
  }
  CopyLine(const CopyLine&) = delete;
  CopyLine& operator=(const CopyLine&) = delete;

  void copy(Bytes size) {
    if (size.count > 0 && room_ == 0) throw RunError("a copy larger than any of the workload");
    for (std::int64_t rest = size.count; rest > 0; rest -= room_) {
      const auto part = static_cast<std::size_t>(std::min(rest, room_));
      void* const to = kind_ == cudaMemcpyHostToDevice ? static_cast<void*>(there_.data()) : here_;
      const void* const from = kind_ == cudaMemcpyHostToDevice ? here_ : static_cast<void*>(there_.data());
      cuda_check(cudaMemcpyAsync(to, from, part, kind_, stream_), "cudaMemcpyAsync");
    }
    cuda_check(cudaEventRecord(copied_, stream_), "cudaEventRecord");
  }
  bool copied() const {
    const cudaError_t code = cudaEventQuery(copied_);
    if (code == cudaErrorNotReady) return false;
    cuda_check(code, "cudaEventQuery");
    return true;
  }
  cudaStream_t stream() const { return stream_; }

 private:
  static constexpr std::int64_t kRoom = 256 << 20;

  cudaMemcpyKind kind_;
  std::int64_t room_;
  DeviceArray<char> there_;
  void* here_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t copied_ = nullptr;
};

}  // namespace gangway

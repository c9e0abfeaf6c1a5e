// Makes an ordinary CUDA kernel preemptible (FRS paper, III-A). One line of its source changes:
//
//   __global__ void saxpy(float a, const float* x, float* y, int n) {
//   GANGWAY_KERNEL(saxpy, float a, const float* x, float* y, int n) {
//
// The body stays as it is. hw/cuda/README.md lists what is not supported, and why. Needs C++17 (__VA_OPT__),
// CUDA 12, session.cuh and persistent.cuh beside this file, and protocol.hpp beside it or as hw/protocol.hpp
// in the include path; nothing else of Gangway.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "session.cuh"  // beside this file

// The parameters shadow the built-in variables, so the body sees the block-task's index and the original
// grid. A preceding `template <...>` line stays.
#define GANGWAY_KERNEL(name, ...)              \
  static __device__ __forceinline__ void name( \
      [[maybe_unused]] const uint3 blockIdx, [[maybe_unused]] const dim3 gridDim __VA_OPT__(, ) __VA_ARGS__)

namespace gangway::preemptible {

#ifdef __CUDACC__

// A kernel made by GANGWAY_KERNEL, with its grid: Kernel<&saxpy>, Kernel<&multiply<32>>. kMostThreads and
// kLeastBlocks: from its __launch_bounds__, else 0.
template <auto kBody, int kMostThreads = 0, int kLeastBlocks = 0, typename Signature = decltype(kBody)>
class Kernel {
  static_assert(sizeof(Signature) == 0,
                "not a kernel made by GANGWAY_KERNEL: its first parameters would be blockIdx and gridDim");
};

template <auto kBody, int kMostThreads, int kLeastBlocks, typename... A>
class Kernel<kBody, kMostThreads, kLeastBlocks, void (*)(uint3, dim3, A...)> {
  static_assert((!std::is_reference_v<A> && ...),
                "a kernel cannot take a reference: it would refer to the host's memory");
  static_assert((std::is_trivially_copyable_v<A> && ...),
                "a kernel's arguments are copied byte by byte: they must be trivially copyable");
  static_assert((sizeof(Stay) + ... + sizeof(A)) <= 4000, "a kernel's arguments must fit into 4,000 bytes");

 public:
  // Loads the code, so that no launch waits for it. `shared_memory`: dynamic, in bytes. Throws Error;
  // std::invalid_argument for a grid above kMostBlockTasks or a block that no SM can hold.
  Kernel(dim3 grid, dim3 block, std::size_t shared_memory = 0)
      : grid_(grid), block_(block), shared_memory_(shared_memory) {
    const unsigned long long tasks = 1ull * grid.x * grid.y * grid.z;
    if (tasks == 0 || tasks >= kMostBlockTasks)
      throw std::invalid_argument("a grid must have 1 to " + std::to_string(kMostBlockTasks - 1) + " blocks");
    block_tasks_ = static_cast<std::uint32_t>(tasks);
    for (std::size_t form = 0; form < kPollingForms; ++form)
      for (const bool observed : {false, true})
        resident_[form][observed] = resident(code_of(static_cast<PollingForm>(form), observed));
    resident(kOriginal);
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&original_ended)),
          "cudaFuncGetAttributes");
  }

  std::uint32_t block_tasks() const { return block_tasks_; }
  // Blocks of that form that the device holds at once.
  std::uint32_t room(PollingForm polling, bool observed = false) const {
    return resident_[static_cast<std::size_t>(polling)][observed];
  }
  // Persistent blocks that the device holds at once, at most one per block-task.
  std::uint32_t blocks() const {
    return usual_blocks(PollingForm::claim, room(PollingForm::claim), block_tasks_);
  }

  // Resources of one block, and how many an SM holds.
  struct Resources {
    int registers;  // per thread
    std::size_t shared_memory;
    int blocks_per_sm;
  };
  Resources original_resources() const { return resources(kOriginal); }
  Resources persistent_resources(PollingForm polling = PollingForm::claim) const {
    return resources(code_of(polling, false));
  }

  // Launches the block-tasks [first, last) of the original grid; as original blocks if the session's blocks
  // do not poll.
  void launch(Session& session, std::uint32_t first, std::uint32_t last, A... arguments) const {
    if (first >= last || last > block_tasks_) throw std::invalid_argument("block-tasks outside the grid");
    if (session.polling() == PollingForm::none)
      return launch_blocks(session, first, last, session.observing(), arguments...);
    const std::uint32_t blocks = session.blocks(room(session.polling(), session.observing()), last - first);
    Stay stay = session.begin(grid_, first, last, blocks);
    void* values[] = {&stay, &arguments...};
    check(cudaLaunchKernel(code_of(session.polling(), session.observing()), dim3(blocks), block_, values,
                           shared_memory_, session.kernels()),
          "cudaLaunchKernel");
  }
  void launch(Session& session, A... arguments) const { launch(session, 0, block_tasks_, arguments...); }

  // The whole original kernel. It cannot be evicted. gone() and device_ns() refer to the start of the
  // stream's next kernel, about a microsecond after the last block's end.
  void launch_original(Session& session, A... arguments) const {
    if (const auto& place = session.originals_place()) {
      Stay there{};
      there.words = place->words;
      there.signals = place->signals;
      there.task = {1, 0, block_tasks_, block_tasks_};
      there.grid = grid_;
      void* values[] = {&there, &arguments...};
      check(cudaLaunchKernel(kOriginal, grid_, block_, values, shared_memory_, place->stream),
            "cudaLaunchKernel");
      return;
    }
    launch_blocks(session, 0, block_tasks_, false, arguments...);
  }

 private:
  // Blocks of the original kernel; in its own grid if the whole is requested.
  void launch_blocks(Session& session, std::uint32_t first, std::uint32_t last, bool observed,
                     A... arguments) const {
    const bool whole = last - first == block_tasks_ && !observed;
    Stay stay = session.begin(grid_, first, last, last - first);
    void* values[] = {&stay, &arguments...};
    check(cudaLaunchKernel(whole ? kOriginal : ranged_code(observed), whole ? grid_ : dim3(last - first),
                           block_, values, shared_memory_, session.kernels()),
          "cudaLaunchKernel");
    check(cudaLaunchKernel(reinterpret_cast<const void*>(&original_ended), dim3(1), dim3(1), values, 0,
                           session.kernels()),
          "cudaLaunchKernel");
  }

  std::uint32_t resident(const void* code) const {
    if (shared_memory_ > 0)  // beyond 48 KiB, including the kernel's own bytes, it must be requested
      check(cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_memory_)),
            "cudaFuncSetAttribute");
    int device = 0, sms = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    const int per_sm = blocks_per_sm(code);
    if (per_sm < 1) throw std::invalid_argument("a block that no SM of this device can hold");
    return static_cast<std::uint32_t>(sms * per_sm);
  }
  int blocks_per_sm(const void* code) const {
    int per_sm = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &per_sm, code, static_cast<int>(block_.x * block_.y * block_.z), shared_memory_),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return per_sm;
  }
  Resources resources(const void* code) const {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, code), "cudaFuncGetAttributes");
    return {attributes.numRegs, attributes.sharedSizeBytes + shared_memory_, blocks_per_sm(code)};
  }

  static inline const void* const kOriginal =
      reinterpret_cast<const void*>(&original<kBody, kMostThreads, kLeastBlocks, A...>);
  static const void* ranged_code(bool observed) {
    return observed ? reinterpret_cast<const void*>(&ranged<kBody, kMostThreads, kLeastBlocks, true, A...>)
                    : reinterpret_cast<const void*>(&ranged<kBody, kMostThreads, kLeastBlocks, false, A...>);
  }
  template <PollingForm kPolling>
  static const void* persistent_code(bool observed) {
    return observed ? reinterpret_cast<const void*>(
                          &persistent<kBody, kMostThreads, kLeastBlocks, kPolling, true, A...>)
                    : reinterpret_cast<const void*>(
                          &persistent<kBody, kMostThreads, kLeastBlocks, kPolling, false, A...>);
  }
  static const void* code_of(PollingForm polling, bool observed) {
    switch (polling) {
      case PollingForm::claim:
        return persistent_code<PollingForm::claim>(observed);
      case PollingForm::host:
        return persistent_code<PollingForm::host>(observed);
      case PollingForm::proxy:
        return persistent_code<PollingForm::proxy>(observed);
      case PollingForm::none:
        return ranged_code(observed);
    }
    throw std::logic_error("a form of polling without device code");
  }

  dim3 grid_, block_;
  std::size_t shared_memory_;
  std::uint32_t block_tasks_ = 0;
  std::uint32_t resident_[kPollingForms][2] = {};  // plain, observed
};

#endif  // __CUDACC__

}  // namespace gangway::preemptible

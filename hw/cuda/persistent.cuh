// The device forms of a preemptible kernel: data shared with the host, persistent blocks that claim
// block-tasks, and blocks of the original kernel. Part of preemptible.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#if __has_include("hw/protocol.hpp")
#include "hw/protocol.hpp"
#else
#include "protocol.hpp"
#endif

namespace gangway::preemptible {

// --- Shared by host and device ---

// In mapped host memory. Contains launch numbers rather than flags, so nothing is reset between launches.
struct alignas(64) Signals {
  // Written by the device, polled by the host.
  std::uint32_t started;     // the newest launch with a running block
  std::uint32_t gone;        // the newest launch whose last block has ended; written last
  std::uint32_t done;        // block-tasks of the kernel done by that launch's end
  unsigned long long begun;  // %globaltimer at its first claim (originals: its first block's start), in ns
  unsigned long long ended;  // %globaltimer at its last block's end, in ns
  // Written by the host, polled by blocks of the forms `host` and `proxy`: the launch that must leave.
  alignas(64) std::uint32_t leaving;
};

// In device memory.
struct alignas(128) Words {
  ControlWord control;       // hw/protocol.hpp; the host writes its high half only
  unsigned long long begun;  // copied to Signals later
  std::uint32_t exits;       // blocks that have left
  std::uint32_t done;        // copied to Signals by the device
  // For `proxy`. On its own cache line, because blocks read it while others claim.
  alignas(128) std::uint32_t leaving;  // the proxy's copy
  TaskSamples samples;                 // of this launch
};

// Measurements of observed launches, in device memory.
struct Observation {
  static constexpr std::uint32_t kMostLengths = 100'000;
  std::uint32_t* lengths = nullptr;  // ns, by position in the launch's range; kMostLengths of them
  std::uint32_t* counts = nullptr;   // by block-task of the original grid: how often it was carried out
};

// A launch as its blocks see it.
struct Stay {
  Words* words;
  Signals* signals;
  LaunchTask task;
  dim3 grid;  // original
  Observation observation;
  std::uint64_t look_interval;  // ns between two looks of a block under `proxy`; 0: before each block-task
};

// --- On the device ---

#ifdef __CUDACC__

namespace device {

inline constexpr std::uint32_t kLeave = 0xFFFFFFFF;  // beyond any block-task

__device__ __forceinline__ unsigned long long clock_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

template <typename T>
__device__ __forceinline__ void put(T& where, T value) {
  *const_cast<volatile T*>(&where) = value;
}

template <typename T>
__device__ __forceinline__ T get(const T& where) {
  return *const_cast<const volatile T*>(&where);
}

// Takes an index and reads the flag with one atomic addition. The block that takes the first index
// announces the start. Only it reads the GPU's timer, which takes microseconds if all blocks do.
__device__ __forceinline__ std::uint32_t claim(const Stay& stay) {
  const Claim claim = claim_of(atomicAdd(&stay.words->control, 1ull), stay.task);
  if (!claim.run) return kLeave;
  if (claim.index == stay.task.first) {
    put(stay.words->begun, clock_ns());
    put(stay.signals->started, stay.task.launch);
  }
  return claim.index;
}

// A polling form's part of persistent(): takes the block's next block-task, or kLeave. One thread of the
// block uses it, from reset() on.
template <PollingForm kPolling>
struct Polling;

template <>
struct Polling<PollingForm::claim> {
  __device__ __forceinline__ void reset() {}
  __device__ __forceinline__ std::uint32_t next(const Stay& stay) { return claim(stay); }
};

template <>
struct Polling<PollingForm::host> {
  __device__ __forceinline__ void reset() {}
  __device__ __forceinline__ std::uint32_t next(const Stay& stay) {
    if (get(stay.signals->leaving) == stay.task.launch) return kLeave;
    return claim(stay);
  }
};

// Looks before the first block-task, before the second (when the length of the first is known), and then at
// intervals.
template <>
struct Polling<PollingForm::proxy> {
  __device__ __forceinline__ void reset() {
    from = 0;
    left = kFirst;
  }
  __device__ __forceinline__ std::uint32_t next(const Stay& stay) {
    if (from != 0) {
      atomicAdd(&stay.words->samples, sample_of(clock_ns() - from));
      from = 0;
    }
    const bool first = left == kFirst;
    if (first || left == 0) {
      if (get(stay.words->leaving) == stay.task.launch) return kLeave;
      left = first || stay.look_interval == 0
                 ? 0
                 : tasks_between_looks(stay.look_interval, get(stay.words->samples)) - 1;
    } else {
      --left;
    }
    const std::uint32_t index = claim(stay);
    if (first && stay.look_interval > 0) from = clock_ns();
    return index;
  }

 private:
  static constexpr std::uint32_t kFirst = 0xFFFFFFFF;
  unsigned long long from;  // begin of the block's first block-task, until it is sampled
  std::uint32_t left;       // block-tasks before the next look
};

// The proxy block's work: copies the order to leave into device memory, until that is done or all block-tasks
// are claimed.
__device__ __forceinline__ void stand_in(const Stay& stay) {
  const std::uint32_t all = stay.task.last - stay.task.first;
  while (static_cast<std::uint32_t>(get(stay.words->control)) < all) {
    if (get(stay.signals->leaving) != stay.task.launch) continue;
    put(stay.words->leaving, stay.task.launch);
    return;
  }
}

// Called by one thread of each block when the block's work is done. The last block's call reports to the host
// and resets the words for the next launch.
template <PollingForm kPolling>
__device__ __forceinline__ void leave(const Stay& stay) {
  __threadfence();  // the block's outputs become visible before it counts as gone
  if (atomicAdd(&stay.words->exits, 1u) + 1 != stay.task.blocks) return;
  __threadfence();
  const std::uint32_t done = done_after(kPolling, get(stay.words->control), stay.task);
  // Only the low half, because the host may be writing the high half.
  put(*reinterpret_cast<std::uint32_t*>(&stay.words->control), 0u);
  put(stay.words->exits, 0u);
  if constexpr (kPolling == PollingForm::proxy) put(stay.words->samples, TaskSamples{0});
  put(stay.words->done, done);
  Signals& signals = *stay.signals;
  const unsigned long long now = clock_ns();
  put(signals.begun, done == stay.task.first ? now : get(stay.words->begun));
  put(signals.ended, now);
  put(signals.done, done);
  put(signals.started, stay.task.launch);  // for a launch that was evicted before its first claim
  __threadfence_system();
  put(signals.gone, stay.task.launch);
}

__device__ __forceinline__ uint3 place(std::uint32_t index, const dim3& grid) {
  if (grid.y == 1 && grid.z == 1) return make_uint3(index, 0, 0);
  const std::uint32_t row = index / grid.x, x = index - row * grid.x;
  if (grid.z == 1) return make_uint3(x, row, 0);
  const std::uint32_t z = row / grid.y;
  return make_uint3(x, row - z * grid.y, z);
}

// What a block keeps between its block-tasks, in shared memory: the body needs the registers, and persistent
// blocks must fit where original ones do.
template <PollingForm kPolling>
struct BlockState {
  std::uint32_t next[2];
  Polling<kPolling> polling;
};

// Records a block-task of an observed launch, which began at `from`. Called by one thread behind a barrier.
__device__ __forceinline__ void note(const Stay& stay, std::uint32_t index, unsigned long long from) {
  const std::uint32_t position = index - stay.task.first;
  if (position < Observation::kMostLengths)
    stay.observation.lengths[position] = static_cast<std::uint32_t>(clock_ns() - from);
  atomicAdd(&stay.observation.counts[index], 1u);
}

// For forms without claims: the first block reports that the launch runs.
__device__ __forceinline__ void announce(const Stay& stay) {
  put(stay.words->begun, clock_ns());
  put(stay.signals->started, stay.task.launch);
}

__device__ __forceinline__ bool is_leader() { return (threadIdx.x | threadIdx.y | threadIdx.z) == 0; }

}  // namespace device

// The original kernel. Its first block reports that it runs; original_ended(), next in the stream, reports
// the end, so all other blocks do only the original work.
template <auto kBody, int kMostThreads, int kLeastBlocks, typename... A>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks) original(const Stay stay, A... arguments) {
  if ((blockIdx.x | blockIdx.y | blockIdx.z) == 0 && device::is_leader()) device::announce(stay);
  kBody(blockIdx, gridDim, arguments...);
}

// A range of the original kernel's blocks, as a one-dimensional grid.
template <auto kBody, int kMostThreads, int kLeastBlocks, bool kObserve, typename... A>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks) ranged(const Stay stay, A... arguments) {
  const bool leader = device::is_leader();
  if (blockIdx.x == 0 && leader) device::announce(stay);
  const std::uint32_t index = stay.task.first + blockIdx.x;
  [[maybe_unused]] unsigned long long from = 0;
  if constexpr (kObserve) from = device::clock_ns();
  kBody(device::place(index, stay.grid), stay.grid, arguments...);
  if constexpr (kObserve) {
    __syncthreads();
    if (leader) device::note(stay, index, from);
  }
}

static __global__ void original_ended(const Stay stay) {
  Signals& signals = *stay.signals;
  device::put(signals.ended, device::clock_ns());
  device::put(signals.begun, device::get(stay.words->begun));
  device::put(signals.done, stay.task.last);
  device::put(stay.words->done, stay.task.last);
  __threadfence_system();
  device::put(signals.gone, stay.task.launch);
}

// Blocks that stay and claim one block-task after another. One barrier for each block-task suffices:
// - next[turn ^ 1] is written between barriers i-1 and i, and read only before barrier i-1 and after
//   barrier i (turn alternates). So no thread reads it while it is written, and all threads see the value.
// - Every thread has left the body when barrier i lets any thread pass. So the next block-task may reuse the
//   body's shared memory, and the leader's fence in leave() covers all threads' writes.
template <auto kBody, int kMostThreads, int kLeastBlocks, PollingForm kPolling, bool kObserve, typename... A>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks) persistent(const Stay stay, A... arguments) {
  __shared__ device::BlockState<kPolling> block;
  if (device::is_leader()) {
    if constexpr (kPolling == PollingForm::proxy)
      if (blockIdx.x == 0) {
        device::stand_in(stay);
        return device::leave<kPolling>(stay);
      }
    block.polling.reset();
    block.next[0] = block.polling.next(stay);
  } else if constexpr (kPolling == PollingForm::proxy) {
    if (blockIdx.x == 0) return;
  }
  __syncthreads();
  for (unsigned turn = 0;; turn ^= 1) {
    const std::uint32_t index = block.next[turn];
    if (index == device::kLeave) break;
    [[maybe_unused]] unsigned long long from = 0;
    if constexpr (kObserve) from = device::clock_ns();
    kBody(device::place(index, stay.grid), stay.grid, arguments...);
    if constexpr (kObserve) {
      __syncthreads();
      if (device::is_leader()) device::note(stay, index, from);
    }
    if (device::is_leader()) block.next[turn ^ 1] = block.polling.next(stay);
    __syncthreads();
  }
  if (device::is_leader()) device::leave<kPolling>(stay);
}

#endif  // __CUDACC__

}  // namespace gangway::preemptible

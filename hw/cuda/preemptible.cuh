// Makes an ordinary CUDA kernel preemptible (FRS paper, III-A). One line of its source changes:
//
//   __global__ void saxpy(float a, const float* x, float* y, int n) {
//   GANGWAY_KERNEL(saxpy, float a, const float* x, float* y, int n) {
//
// and the body stays as it is. hw/cuda/README.md says what cannot be taken, and why. Needs C++17
// (__VA_OPT__), CUDA 12 and hw/protocol.hpp beside this file or below the include path; nothing else of
// Gangway.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#if __has_include("hw/protocol.hpp")
#include "hw/protocol.hpp"
#else
#include "protocol.hpp"
#endif

// The parameters shadow the built-in variables, so the body computes with the block-task's index and the
// original grid. A `template <...>` line before it stays where it is.
#define GANGWAY_KERNEL(name, ...)              \
  static __device__ __forceinline__ void name( \
      [[maybe_unused]] const uint3 blockIdx, [[maybe_unused]] const dim3 gridDim __VA_OPT__(, ) __VA_ARGS__)

namespace gangway::preemptible {

// A CUDA call that failed. what(): the call and CUDA's text.
class Error : public std::runtime_error {
 public:
  Error(cudaError_t code, const std::string& call)
      : std::runtime_error(call + ": " + cudaGetErrorString(code)), code(code) {}
  cudaError_t code;
};

inline void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  (void)cudaGetLastError();  // or a later, innocent call would report it again
  throw Error(code, call);
}

// --- What host and device share ---

// In mapped host memory; written by the device, polled by the host. Launch numbers rather than flags, so that
// nothing has to be reset between launches.
struct alignas(64) Signals {
  std::uint32_t started;     // the newest launch of which a block runs
  std::uint32_t gone;        // the newest launch whose last block has ended; written last
  std::uint32_t done;        // block-tasks of the kernel done in all when it ended
  unsigned long long begun;  // %globaltimer at its first block's start, in ns
  unsigned long long ended;  // and at its last block's end
};

// In device memory, one cache line of it.
struct alignas(128) Words {
  ControlWord control;       // hw/protocol.hpp; the host writes its high half only
  unsigned long long begun;  // as in Signals, on its way there
  std::uint32_t exits;       // blocks that have left
  std::uint32_t done;        // as in Signals, for a copy to the host
};

// Where observed launches leave what they measured; device memory.
struct Observation {
  static constexpr std::uint32_t kMostLengths = 100'000;
  std::uint32_t* lengths = nullptr;  // ns, by position in the launch's range; kMostLengths of them
  std::uint32_t* counts = nullptr;   // by block-task of the original grid: how often carried out
};

// One launch as its blocks know it.
struct Stay {
  Words* words;
  Signals* signals;
  LaunchTask task;
  dim3 grid;  // original
  Observation observation;
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

// One atomic addition takes an index and sees the flag. Which block takes the first one is certain, so that
// block announces the start.
__device__ __forceinline__ std::uint32_t claim(const Stay& stay, unsigned long long begun) {
  const Claim claim = claim_of(atomicAdd(&stay.words->control, 1ull), stay.task);
  if (!claim.run) return kLeave;
  if (claim.index == stay.task.first) {
    put(stay.words->begun, begun);
    put(stay.signals->started, stay.task.launch);
  }
  return claim.index;
}

// What a form of polling does in persistent(): takes the block's next block-task, or kLeave. Called by one
// thread of the block.
template <PollingForm kPolling>
struct Polling;
template <>
struct Polling<PollingForm::claim> {
  static __device__ __forceinline__ std::uint32_t next(const Stay& stay, unsigned long long begun) {
    return claim(stay, begun);
  }
};

// Called by one thread of each block when all of the block's work is done. The last block's call tells the
// host and leaves the words as the next launch needs them.
__device__ __forceinline__ void leave(const Stay& stay, unsigned long long begun) {
  __threadfence();  // the block's outputs, before it is counted as gone
  if (atomicAdd(&stay.words->exits, 1u) + 1 != stay.task.blocks) return;
  __threadfence();
  const std::uint32_t done = done_after(get(stay.words->control), stay.task);
  // The low half only: the host may be writing the high half.
  put(*reinterpret_cast<std::uint32_t*>(&stay.words->control), 0u);
  put(stay.words->exits, 0u);
  put(stay.words->done, done);
  Signals& signals = *stay.signals;
  put(signals.begun, done == stay.task.first ? begun : get(stay.words->begun));
  put(signals.ended, clock_ns());
  put(signals.done, done);
  put(signals.started, stay.task.launch);  // for a launch that was evicted before its first claim
  __threadfence_system();
  put(signals.gone, stay.task.launch);
}

__device__ __forceinline__ uint3 place(std::uint32_t index, const dim3& grid) {
  if (grid.y == 1 && grid.z == 1) return make_uint3(index, 0, 0);
  const std::uint32_t row = index / grid.x;
  return make_uint3(index % grid.x, row % grid.y, row / grid.y);
}

__device__ __forceinline__ bool is_leader() { return (threadIdx.x | threadIdx.y | threadIdx.z) == 0; }

}  // namespace device

// The kernel as it was. Its first block tells the host that it runs; original_ended(), next in the stream,
// tells that it has ended, so that blocks other than the first do nothing that they did not do before.
template <auto kBody, int kMostThreads, int kLeastBlocks, typename... A>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks) original(const Stay stay, A... arguments) {
  if ((blockIdx.x | blockIdx.y | blockIdx.z) == 0 && device::is_leader()) {
    device::put(stay.words->begun, device::clock_ns());
    device::put(stay.signals->started, stay.task.launch);
  }
  kBody(blockIdx, gridDim, arguments...);
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

// Blocks that stay and claim one block-task after the other. One barrier for each:
// - next[turn ^ 1] is written between the barriers i-1 and i, and read before barrier i-1 and after barrier i
//   only (turn alternates), so no thread reads it while it is written and all see what was written;
// - every thread has left the body when barrier i lets any pass, so the next block-task may reuse the body's
//   shared memory, and the leader's fence in leave() stands for the writes of all.
template <auto kBody, int kMostThreads, int kLeastBlocks, PollingForm kPolling, bool kObserve, typename... A>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks) persistent(const Stay stay, A... arguments) {
  __shared__ std::uint32_t next[2];
  const bool leader = device::is_leader();
  unsigned long long begun = 0;
  if (leader) {
    begun = device::clock_ns();
    next[0] = device::Polling<kPolling>::next(stay, begun);
  }
  __syncthreads();
  for (unsigned turn = 0;; turn ^= 1) {
    const std::uint32_t index = next[turn];
    if (index == device::kLeave) break;
    [[maybe_unused]] unsigned long long from = 0;
    if constexpr (kObserve) from = device::clock_ns();
    kBody(device::place(index, stay.grid), stay.grid, arguments...);
    if constexpr (kObserve) {
      __syncthreads();
      if (leader) {
        const std::uint32_t position = index - stay.task.first;
        if (position < Observation::kMostLengths)
          stay.observation.lengths[position] = static_cast<std::uint32_t>(device::clock_ns() - from);
        atomicAdd(&stay.observation.counts[index], 1u);
      }
    }
    if (leader) next[turn ^ 1] = device::Polling<kPolling>::next(stay, begun);
    __syncthreads();
  }
  if (leader) device::leave(stay, begun);
}

#endif  // __CUDACC__

// --- On the host ---

// How launches persist: which form of polling their blocks have, and how many blocks there are. `blocks` is
// asked before each launch of `block_tasks` block-tasks, with the number of blocks that the device holds at
// once, and says 1 to `room`. None: as many as fit, no more than there are block-tasks.
struct Persistence {
  PollingForm polling = PollingForm::claim;
  std::function<std::uint32_t(std::uint32_t room, std::uint32_t block_tasks)> blocks;
};

// Where an original kernel runs as in a program that knows nothing of this: a stream, and words and signals
// of its own in device memory, all of which must live as long as it runs. `words->begun` gets the time of its
// first block; nothing tells its end.
struct Place {
  cudaStream_t stream;
  Words* words;
  Signals* signals;
};

// The words, signals and streams of one sequence of launches on the current device: one launch at a time. No
// call but the constructor and the destructor waits. All throw Error. The destructor waits for what runs.
class Session {
 public:
  Session() {
    void* place = nullptr;
    check(cudaMalloc(&place, sizeof(Words)), "cudaMalloc");
    words_.reset(static_cast<Words*>(place));
    check(cudaMemset(place, 0, sizeof(Words)), "cudaMemset");
    check(cudaHostAlloc(&place, sizeof(Signals), cudaHostAllocMapped), "cudaHostAlloc");
    signals_.reset(new (place) Signals{});
    check(cudaHostGetDevicePointer(&place, signals_.get(), 0), "cudaHostGetDevicePointer");
    signals_there_ = static_cast<Signals*>(place);
    check(cudaHostAlloc(&place, kSlots * sizeof(std::uint32_t), cudaHostAllocDefault), "cudaHostAlloc");
    slots_.reset(static_cast<std::uint32_t*>(place));
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    kernels_ = make_stream(least);
    commands_ = make_stream(greatest);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  // Orders the launch off the device, by a copy of its number onto the high half of the control word.
  // Without effect once it is gone.
  void evict() {
    if (gone() || evicted_ == launch_) return;
    evicted_ = launch_;
    // Copies in the stream happen in order, so a slot in use would be one of kSlots launches ago.
    std::uint32_t* slot = slots_.get() + launch_ % kSlots;
    *slot = launch_;
    check(cudaMemcpyAsync(flag(), slot, sizeof *slot, cudaMemcpyHostToDevice, commands_.get()),
          "cudaMemcpyAsync of the flag");
  }

  bool started() const { return launch_ != 0 && read(signals_->started) == launch_; }
  bool gone() const { return launch_ == 0 || read(signals_->gone) == launch_; }
  // Once gone:
  std::uint32_t done() const { return read(signals_->done); }  // block-tasks of the kernel, in all
  unsigned long long device_ns() const {  // from the first block's start to the last's end
    return read(signals_->ended) - read(signals_->begun);
  }

  // From now on launches record what `observation` has room for; its null pointers: no longer.
  void observe(const Observation& observation) { observation_ = observation; }

  // From now on original kernels run there, any number at once, and have no part in started() and gone().
  void originals_in(const Place& place) { place_ = place; }
  const std::optional<Place>& originals_place() const { return place_; }

  // From now on launches persist like this.
  void persist(Persistence persistence) { persistence_ = std::move(persistence); }
  PollingForm polling() const { return persistence_.polling; }
  // Persistent blocks of a launch. Throws std::invalid_argument where the rule says none or too many.
  std::uint32_t blocks(std::uint32_t room, std::uint32_t block_tasks) const {
    if (!persistence_.blocks) return room < block_tasks ? room : block_tasks;
    const std::uint32_t blocks = persistence_.blocks(room, block_tasks);
    if (blocks < 1 || blocks > room)
      throw std::invalid_argument("persistent blocks must be 1 to those that fit");
    return blocks;
  }

  // For eviction by other means: what to write where, and a stream that no kernel delays.
  std::uint32_t launch_number() const { return launch_; }
  std::uint32_t* flag() const { return reinterpret_cast<std::uint32_t*>(&words_->control) + 1; }
  const std::uint32_t* done_word() const { return &words_->done; }
  cudaStream_t commands() const { return commands_.get(); }
  cudaStream_t kernels() const { return kernels_.get(); }

  // For Kernel: begins a launch, which must not be before the last one is gone.
  Stay begin(dim3 grid, std::uint32_t first, std::uint32_t last, std::uint32_t blocks) {
    if (!gone()) throw std::logic_error("a launch while the last one is still on the device");
    ++launch_;
    if (launch_ == 0) ++launch_;  // 0 names no launch
    return {words_.get(), signals_there_, {launch_, first, last, blocks}, grid, observation_};
  }
  bool observing() const { return observation_.counts != nullptr; }

 private:
  static constexpr std::uint32_t kSlots = 4096;

  struct FreeDevice {
    void operator()(void* p) const { cudaFree(p); }
  };
  struct FreeHost {
    void operator()(void* p) const { cudaFreeHost(p); }
  };
  struct DestroyStream {
    void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
  };
  using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;

  static Stream make_stream(int priority) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
          "cudaStreamCreateWithPriority");
    return Stream(stream);
  }

  // The device may write it at any time.
  template <typename T>
  static T read(const T& where) {
    const T value = *const_cast<const volatile T*>(&where);
    std::atomic_thread_fence(std::memory_order_acquire);
    return value;
  }

  std::unique_ptr<Words, FreeDevice> words_;
  std::unique_ptr<Signals, FreeHost> signals_;
  Signals* signals_there_ = nullptr;  // as the device addresses them
  std::unique_ptr<std::uint32_t, FreeHost> slots_;
  Stream kernels_, commands_;
  Observation observation_;
  std::optional<Place> place_;
  Persistence persistence_;
  std::uint32_t launch_ = 0, evicted_ = 0;
};

#ifdef __CUDACC__

// A kernel made by GANGWAY_KERNEL, with its grid: Kernel<&saxpy>, Kernel<&multiply<32>>. kMostThreads and
// kLeastBlocks are what its __launch_bounds__ said, 0 where it had none.
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
  // Loads the code, so that no launch waits for that. `shared_memory`: dynamic, in bytes. Throws Error, and
  // std::invalid_argument for a grid of more than kMostBlockTasks or a block that no SM can hold.
  Kernel(dim3 grid, dim3 block, std::size_t shared_memory = 0)
      : grid_(grid), block_(block), shared_memory_(shared_memory) {
    const unsigned long long tasks = 1ull * grid.x * grid.y * grid.z;
    if (tasks == 0 || tasks >= kMostBlockTasks)
      throw std::invalid_argument("a grid must have 1 to " + std::to_string(kMostBlockTasks - 1) + " blocks");
    block_tasks_ = static_cast<std::uint32_t>(tasks);
    for (std::size_t form = 0; form < kPollingForms; ++form)
      for (const bool observed : {false, true})
        resident_[form][observed] = resident(persistent_code(static_cast<PollingForm>(form), observed));
    resident(kOriginal);
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&original_ended)),
          "cudaFuncGetAttributes");
  }

  std::uint32_t block_tasks() const { return block_tasks_; }
  // As many persistent blocks as the device holds at once, no more than there are block-tasks.
  std::uint32_t blocks(PollingForm polling = PollingForm::claim) const {
    const std::uint32_t room = resident_[static_cast<std::size_t>(polling)][false];
    return room < block_tasks_ ? room : block_tasks_;
  }

  // What one block takes, and how many such an SM holds.
  struct Resources {
    int registers;  // per thread
    std::size_t shared_memory;
    int blocks_per_sm;
  };
  Resources original_resources() const { return resources(kOriginal); }
  Resources persistent_resources(PollingForm polling = PollingForm::claim) const {
    return resources(persistent_code(polling, false));
  }

  // Launches the block-tasks [first, last) of the original grid.
  void launch(Session& session, std::uint32_t first, std::uint32_t last, A... arguments) const {
    if (first >= last || last > block_tasks_) throw std::invalid_argument("block-tasks outside the grid");
    const std::uint32_t room = resident_[static_cast<std::size_t>(session.polling())][session.observing()];
    const std::uint32_t blocks = session.blocks(room, last - first);
    Stay stay = session.begin(grid_, first, last, blocks);
    void* values[] = {&stay, &arguments...};
    check(cudaLaunchKernel(persistent_code(session.polling(), session.observing()), dim3(blocks), block_,
                           values, shared_memory_, session.kernels()),
          "cudaLaunchKernel");
  }
  void launch(Session& session, A... arguments) const { launch(session, 0, block_tasks_, arguments...); }

  // The kernel as it was, whole. It cannot be evicted; gone() tells, and device_ns() measures, to the start
  // of the stream's next kernel, about a microsecond after the last block's end.
  void launch_original(Session& session, A... arguments) const {
    if (const auto& place = session.originals_place()) {
      Stay there{place->words, place->signals, {1, 0, block_tasks_, block_tasks_}, grid_, {}};
      void* values[] = {&there, &arguments...};
      check(cudaLaunchKernel(kOriginal, grid_, block_, values, shared_memory_, place->stream),
            "cudaLaunchKernel");
      return;
    }
    Stay stay = session.begin(grid_, 0, block_tasks_, block_tasks_);
    void* values[] = {&stay, &arguments...};
    check(cudaLaunchKernel(kOriginal, grid_, block_, values, shared_memory_, session.kernels()),
          "cudaLaunchKernel");
    check(cudaLaunchKernel(reinterpret_cast<const void*>(&original_ended), dim3(1), dim3(1), values, 0,
                           session.kernels()),
          "cudaLaunchKernel");
  }

 private:
  std::uint32_t resident(const void* code) const {
    if (shared_memory_ > 0)  // beyond 48 KiB, this kernel's own few bytes included, it has to be asked for
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
  template <PollingForm kPolling>
  static const void* code_of(bool observed) {
    return observed ? reinterpret_cast<const void*>(
                          &persistent<kBody, kMostThreads, kLeastBlocks, kPolling, true, A...>)
                    : reinterpret_cast<const void*>(
                          &persistent<kBody, kMostThreads, kLeastBlocks, kPolling, false, A...>);
  }
  static const void* persistent_code(PollingForm polling, bool observed) {
    switch (polling) {
      case PollingForm::claim:
        return code_of<PollingForm::claim>(observed);
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

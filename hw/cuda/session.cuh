// The host's side of launches: words, signals and streams of one sequence of them. Part of preemptible.cuh.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "persistent.cuh"  // beside this file

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

// How launches persist: which form of polling their blocks have, and how many blocks there are. `blocks` is
// asked before each launch of `block_tasks` block-tasks, with the number of blocks that the device holds at
// once, and says 1 to `room`. None: as many as fit, no more than there are block-tasks, and the proxy.
struct Persistence {
  PollingForm polling = PollingForm::claim;
  std::function<std::uint32_t(std::uint32_t room, std::uint32_t block_tasks)> blocks = {};
  std::uint64_t look_interval =
      0;  // ns between two looks of a block under `proxy`; 0: before each block-task
};

// As many persistent blocks as there is room and work for; under `proxy` one of at least two does no work.
inline std::uint32_t usual_blocks(PollingForm polling, std::uint32_t room, std::uint32_t block_tasks) {
  const std::uint32_t proxies = polling == PollingForm::proxy ? 1 : 0;
  if (room <= proxies) return room + 1;  // there is none
  return (room - proxies < block_tasks ? room - proxies : block_tasks) + proxies;
}

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

  // Orders the launch off the device, by its number: a copy of it onto the high half of the control word, or
  // a store where blocks poll the host's memory. Without effect once it is gone, and where blocks do not
  // poll.
  void evict() {
    if (gone() || evicted_ == launch_ || polling() == PollingForm::none) return;
    evicted_ = launch_;
    if (polling() != PollingForm::claim) {
      *const_cast<volatile std::uint32_t*>(&signals_->leaving) = launch_;
      return;
    }
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

  // From now on original kernels run there, any number at once, and have no part in started() and gone().
  void originals_in(const Place& place) { place_ = place; }
  const std::optional<Place>& originals_place() const { return place_; }

  // From now on launches record what `observation` has room for; its null pointers: no longer.
  void observe(const Observation& observation) { observation_ = observation; }

  // From now on launches persist like this; the last one must be gone.
  void persist(Persistence persistence) { persistence_ = std::move(persistence); }
  PollingForm polling() const { return persistence_.polling; }
  // Persistent blocks of a launch. Throws std::invalid_argument where the rule says none or too many.
  std::uint32_t blocks(std::uint32_t room, std::uint32_t block_tasks) const {
    const std::uint32_t blocks = persistence_.blocks ? persistence_.blocks(room, block_tasks)
                                                     : usual_blocks(polling(), room, block_tasks);
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
    return {words_.get(), signals_there_, {launch_, first, last, blocks},
            grid,         observation_,   persistence_.look_interval};
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

}  // namespace gangway::preemptible

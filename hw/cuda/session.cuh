// The host side of launches: words, signals and streams of one sequence. Part of preemptible.cuh.
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

// A failed CUDA call. what(): the call and CUDA's text.
class Error : public std::runtime_error {
 public:
  Error(cudaError_t code, const std::string& call)
      : std::runtime_error(call + ": " + cudaGetErrorString(code)), code(code) {}
  cudaError_t code;
};

inline void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  (void)cudaGetLastError();  // or a later, unrelated call would report it again
  throw Error(code, call);
}

// How launches persist: their polling form and number of blocks. `blocks` is asked before each launch of
// `block_tasks`, with the number of blocks that fit, and returns 1 to `room`. None: as many as fit, at most
// one per block-task, plus the proxy.
struct Persistence {
  PollingForm polling = PollingForm::claim;
  std::function<std::uint32_t(std::uint32_t room, std::uint32_t block_tasks)> blocks = {};
  std::uint64_t look_interval = 0;  // ns between a block's looks under `proxy`; 0: before each block-task
};

// As many persistent blocks as there is room and work for; under `proxy`, one of at least two does no work.
inline std::uint32_t usual_blocks(PollingForm polling, std::uint32_t room, std::uint32_t block_tasks) {
  const std::uint32_t proxies = polling == PollingForm::proxy ? 1 : 0;
  if (room <= proxies) return room + 1;  // there is none
  return (room - proxies < block_tasks ? room - proxies : block_tasks) + proxies;
}

// Where an original kernel runs as in an unaware program: a stream, and words and signals of its own in
// device memory, which must live as long as it runs. `words->begun` receives its first block's start; its end
// is not recorded.
struct Place {
  cudaStream_t stream;
  Words* words;
  Signals* signals;
};

// The words, signals and streams of a sequence of launches on the current device; one launch at a time. Only
// the constructor and destructor wait. All throw Error. The destructor waits for running work.
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

  // Orders an eviction by the launch's number: a copy onto the high half of the control word, or a store if
  // blocks poll host memory. No effect once the launch is gone, or if its blocks do not poll.
  void evict() {
    if (gone() || evicted_ == launch_ || polling() == PollingForm::none) return;
    evicted_ = launch_;
    if (polling() != PollingForm::claim) {
      *const_cast<volatile std::uint32_t*>(&signals_->leaving) = launch_;
      return;
    }
    // Copies in the stream are ordered, so a slot in use is at least kSlots launches old.
    std::uint32_t* slot = slots_.get() + launch_ % kSlots;
    *slot = launch_;
    check(cudaMemcpyAsync(flag(), slot, sizeof *slot, cudaMemcpyHostToDevice, commands_.get()),
          "cudaMemcpyAsync of the flag");
  }

  bool started() const { return launch_ != 0 && read(signals_->started) == launch_; }
  bool gone() const { return launch_ == 0 || read(signals_->gone) == launch_; }
  // Once gone:
  std::uint32_t done() const { return read(signals_->done); }  // block-tasks of the kernel in total
  unsigned long long device_ns() const {  // from the first claim (or original block's start) to the last end
    return read(signals_->ended) - read(signals_->begun);
  }

  // Makes later original kernels run there, any number at once, independent of started() and gone().
  void originals_in(const Place& place) { place_ = place; }
  const std::optional<Place>& originals_place() const { return place_; }

  // Makes later launches record what `observation` has room for; null pointers end that.
  void observe(const Observation& observation) { observation_ = observation; }

  // Sets how later launches persist; the last launch must be gone.
  void persist(Persistence persistence) { persistence_ = std::move(persistence); }
  PollingForm polling() const { return persistence_.polling; }
  // Persistent blocks of a launch. Throws std::invalid_argument if the rule returns none or too many.
  std::uint32_t blocks(std::uint32_t room, std::uint32_t block_tasks) const {
    const std::uint32_t blocks = persistence_.blocks ? persistence_.blocks(room, block_tasks)
                                                     : usual_blocks(polling(), room, block_tasks);
    if (blocks < 1 || blocks > room)
      throw std::invalid_argument("persistent blocks must be 1 to those that fit");
    return blocks;
  }

  // For other ways of eviction: what to write where, and a stream not delayed by kernels.
  std::uint32_t launch_number() const { return launch_; }
  std::uint32_t* flag() const { return reinterpret_cast<std::uint32_t*>(&words_->control) + 1; }
  const std::uint32_t* done_word() const { return &words_->done; }
  cudaStream_t commands() const { return commands_.get(); }
  cudaStream_t kernels() const { return kernels_.get(); }

  // For Kernel: begins a launch; the last one must be gone.
  Stay begin(dim3 grid, std::uint32_t first, std::uint32_t last, std::uint32_t blocks) {
    if (!gone()) throw std::logic_error("a launch while the last one is still on the device");
    ++launch_;
    if (launch_ == 0) ++launch_;  // 0 is not a launch
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
  Signals* signals_there_ = nullptr;  // in the device's address space
  std::unique_ptr<std::uint32_t, FreeHost> slots_;
  Stream kernels_, commands_;
  Observation observation_;
  std::optional<Place> place_;
  Persistence persistence_;
  std::uint32_t launch_ = 0, evicted_ = 0;
};

}  // namespace gangway::preemptible

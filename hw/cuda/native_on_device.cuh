// A native run's resources on the device: streams, events, stamps and problems; and the relation of the
// device's clock to the host's.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "hw/clock.hpp"
#include "hw/cuda/busy_kernel.cuh"
#include "hw/cuda/device_array.cuh"
#include "hw/cuda/native_player.hpp"

namespace gangway::native {

using namespace literals;

constexpr Duration kWarmUp = 300_ms;  // a GPU's clocks rise under load
constexpr Duration kPatience = 20_s;  // for the GPU to come to rest before and after runs
constexpr Duration kCoarsest = 1_us;  // step of the device's clock
constexpr unsigned long long kNever = ~0ull;

struct Destroy {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using OwnStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy>;
struct FreeHost {
  void operator()(void* p) const { cudaFreeHost(p); }
};

inline OwnStream new_stream(unsigned flags, int priority) {
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithPriority(&stream, flags, priority), "cudaStreamCreateWithPriority");
  return OwnStream(stream);
}
inline Event new_event() {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}
inline std::int64_t ns_between(const Event& from, const Event& to) {
  float ms = 0;
  cuda_check(cudaEventElapsedTime(&ms, from.get(), to.get()), "cudaEventElapsedTime");
  return static_cast<std::int64_t>(static_cast<double>(ms) * 1e6 + 0.5);
}

template <int kRegisters>
constexpr const void* code() {
  return reinterpret_cast<const void*>(&busy::keep_busy<kRegisters>);
}
struct Variant {
  std::uint32_t registers;
  const void* code;
};
constexpr std::array<Variant, 4> variants() {
  return {{{32, code<32>()}, {64, code<64>()}, {128, code<128>()}, {255, code<255>()}}};
}
inline const void* code_with(std::uint32_t registers) {
  for (const Variant& variant : variants())
    if (variant.registers == registers) return variant.code;
  return variants().front().code;
}

// The same moment on both clocks.
struct ClockPair {
  std::int64_t device = 0, host = 0;
  Duration uncertainty = Duration::max();
};

// Device times on the host's clock. The clocks' rates differ by too little to be seen within a run, so the
// rate is taken since `first`, long before; the run's own pairs give the offset.
class ClockMap {
 public:
  ClockMap(const ClockPair& first, const ClockPair& before, const ClockPair& after)
      : anchor_(before.uncertainty < after.uncertainty ? before : after),
        rate_(static_cast<double>(after.host - first.host) /
              static_cast<double>(after.device - first.device)) {}
  HostClock::Instant host(std::int64_t device) const {
    const auto since = static_cast<double>(device - anchor_.device) * rate_;
    return {anchor_.host + static_cast<std::int64_t>(since)};
  }
  Duration uncertainty() const { return anchor_.uncertainty; }

 private:
  ClockPair anchor_;
  double rate_;
};

// All that lives on the device, as one object that can be abandoned.
class OnDevice {
 public:
  explicit OnDevice(const NativeSetup& setup)
      : setup_(setup), there_(static_cast<std::uint64_t>(setup.longest_copy.count)) {
    cuda_check(cudaSetDevice(0), "cudaSetDevice");
    check_kernels();
    make_streams();
    make_problems();
    if (there_.size() > 0) {
      cuda_check(cudaHostAlloc(&place_, there_.bytes(), cudaHostAllocDefault),
                 "cudaHostAlloc of a staging buffer");
      here_.reset(place_);
    }
    cuda_check(cudaHostAlloc(&place_, sizeof(Words), cudaHostAllocMapped), "cudaHostAlloc");
    words_.reset(new (place_) Words{});
    cuda_check(cudaHostGetDevicePointer(&place_, words_.get(), 0), "cudaHostGetDevicePointer");
    words_there_ = static_cast<Words*>(place_);
    for (auto& pair : references_)
      for (Event& event : pair) event = new_event();
    spare_.fill_bytes(0);
    first_steps();
  }

  // Makes room for a run and clears it. Waits and allocates.
  void prepare(const NativeRun& run) {
    if (!stamps_ || stamps_->size() < run.stamps)
      stamps_ = std::make_unique<DeviceArray<busy::Stamp>>(run.stamps);
    if (stamps_->size() > 0) stamps_->fill_bytes(0);
    if (!starts_ || starts_->size() < run.starts)
      starts_ = std::make_unique<DeviceArray<preemptible::Words>>(run.starts);
    if (starts_->size() > 0) starts_->fill_bytes(0);
    while (ended_.size() < run.events) ended_.push_back(new_event());
  }

  void warm_up() {
    for (const auto began = HostClock::now(); HostClock::now() - began < kWarmUp;) {
      launch(streams_[0], variants().front().code, 264, dim3(1024), {}, 1_ms, spare_.data());
      rest(kPatience);
    }
  }

  // These return at once unless the driver's queue is full.
  void issue(const NativeOperation& operation) {
    const cudaStream_t stream = streams_[operation.stream];
    if (operation.copy)
      copy(stream, operation);
    else if (operation.coded)
      launch_code(stream, operation);
    else
      keep_busy(stream, operation);
    if (operation.timed_by_event())
      cuda_check(cudaEventRecord(ended_[operation.event].get(), stream), "cudaEventRecord");
  }

  // Whether nothing is left to do. Throws RunError when something failed.
  bool at_rest() const {
    for (const cudaStream_t stream : streams_)
      if (!over(stream)) return false;
    return over(service_.get());
  }
  // Waits.
  bool rest(Duration limit) const {
    for (const auto began = HostClock::now(); !at_rest();) {
      if (HostClock::now() - began > limit) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }

  // Waits, while nothing else is on the device.
  ClockPair synchronise_clocks() {
    constexpr std::uint32_t kRounds = 200;
    Words* const words = words_.get();
    volatile std::uint32_t& asked = words->asked;
    volatile unsigned long long& clock = words->clock;
    asked = 0;
    clock = 0;
    busy::tell_clock<<<1, 1, 0, service_.get()>>>(&words_there_->asked, &words_there_->clock, kRounds);
    cuda_check(cudaGetLastError(), "launch of tell_clock");
    ClockPair best;
    unsigned long long last = 0;
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      const auto before = HostClock::now();
      asked = round;
      while (clock == last)
        if (HostClock::now() - before > 1_s) throw RunError("the GPU's clock cannot be read");
      const auto after = HostClock::now();
      last = clock;
      const Duration half{(after - before).ns / 2};
      if (half < best.uncertainty) best = {static_cast<std::int64_t>(last), before.ns + half.ns, half};
    }
    if (!rest(kPatience)) throw RunError("the GPU does not become idle");
    return best;
  }

  // The device's clock when an event happened is this and the event's distance from the reference. Waits.
  struct Reference {
    std::int64_t device = 0;
    Duration uncertainty;
  };
  // A block that reads the clock runs between two events, which bounds the first event's time on that clock.
  Reference reference() {
    for (std::size_t i = 0; i < references_.size(); ++i) {
      cuda_check(cudaEventRecord(references_[i][0].get(), service_.get()), "cudaEventRecord");
      launch(service_.get(), variants().front().code, 1, dim3(32), {}, {}, spare_.data() + i);
      cuda_check(cudaEventRecord(references_[i][1].get(), service_.get()), "cudaEventRecord");
      if (!rest(kPatience)) throw RunError("the GPU does not become idle");
    }
    std::array<busy::Stamp, kReferences> stamps;
    cuda_check(cudaMemcpy(stamps.data(), spare_.data(), sizeof stamps, cudaMemcpyDeviceToHost),
               "cudaMemcpy of stamps");
    std::int64_t least = INT64_MIN, most = INT64_MAX;
    for (std::size_t i = 0; i < references_.size(); ++i) {
      const Event& first = references_[0][0];
      most =
          std::min(most, static_cast<std::int64_t>(stamps[i].began) - ns_between(first, references_[i][0]));
      least =
          std::max(least, static_cast<std::int64_t>(stamps[i].ended) - ns_between(first, references_[i][1]));
    }
    return {least + (most - least) / 2, {std::max<std::int64_t>(0, most - least) / 2}};
  }
  std::int64_t since_reference(std::uint32_t event) const {
    return ns_between(references_[0][0], ended_[event]);
  }

  // Waits.
  std::vector<busy::Stamp> stamps(std::uint64_t count) const {
    std::vector<busy::Stamp> out(count);
    if (count > 0)
      cuda_check(cudaMemcpy(out.data(), stamps_->data(), count * sizeof out[0], cudaMemcpyDeviceToHost),
                 "cudaMemcpy of stamps");
    return out;
  }
  // When the first block of each kernel with code began, on the device's clock. Waits.
  std::vector<std::int64_t> starts(std::uint32_t count) const {
    std::vector<preemptible::Words> words(count);
    if (count > 0)
      cuda_check(cudaMemcpy(words.data(), starts_->data(), count * sizeof words[0], cudaMemcpyDeviceToHost),
                 "cudaMemcpy of starts");
    std::vector<std::int64_t> out;
    for (const preemptible::Words& word : words) out.push_back(static_cast<std::int64_t>(word.begun));
    return out;
  }

  template <typename Do>
  void each_problem(Do act) const {
    for (const auto& of_client : problems_)
      for (const auto& problem : of_client)
        if (problem) act(*problem);
  }

 private:
  static constexpr std::size_t kReferences = 20;
  struct Words {
    std::uint32_t asked;
    unsigned long long clock;
  };

  static bool over(cudaStream_t stream) {
    const cudaError_t code = cudaStreamQuery(stream);
    if (code == cudaErrorNotReady) return false;
    if (code != cudaSuccess) throw RunError(std::string("the GPU stopped: ") + cudaGetErrorString(code));
    return true;
  }

  void copy(cudaStream_t stream, const NativeOperation& operation) {
    const auto size = static_cast<std::size_t>(operation.size.count);
    if (operation.direction == CopyDirection::to_device)
      cuda_check(cudaMemcpyAsync(there_.data(), here_.get(), size, cudaMemcpyHostToDevice, stream),
                 "cudaMemcpyAsync");
    else
      cuda_check(cudaMemcpyAsync(here_.get(), there_.data(), size, cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyAsync");
  }
  void launch_code(cudaStream_t stream, const NativeOperation& operation) {
    session_->originals_in(preemptible::Place{stream, starts_->data() + operation.start, signals_.data()});
    carried_out([&] { problems_[operation.job.client.index][operation.kernel]->launch_original(*session_); });
  }
  void keep_busy(cudaStream_t stream, const NativeOperation& operation) {
    const NativeKernel& kernel = setup_.kernels[operation.job.client.index][operation.kernel];
    const dim3 block(static_cast<unsigned>(kernel.block[0]), static_cast<unsigned>(kernel.block[1]),
                     static_cast<unsigned>(kernel.block[2]));
    launch(stream, code_with(kernel.registers), kernel.blocks, block, kernel.shared_memory, kernel.length,
           stamps_->data() + operation.first_stamp);
  }

  static void launch(cudaStream_t stream, const void* code, unsigned blocks, dim3 block, Bytes shared_memory,
                     Duration length, busy::Stamp* stamps) {
    auto ns = static_cast<unsigned long long>(length.ns);
    unsigned long long never = kNever;
    void* values[] = {&stamps, &ns, &never};
    cuda_check(cudaLaunchKernel(code, dim3(blocks), block, values,
                                static_cast<std::size_t>(shared_memory.count), stream),
               "cudaLaunchKernel");
  }

  // All kernels ask for the same division of an SM's memory: it can only be changed while the SM is empty,
  // and that is not among the rules.
  void check_kernels() const {
    int most = 0;
    cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
               "cudaDeviceGetAttribute");
    for (const auto& of_client : setup_.kernels)
      for (const NativeKernel& kernel : of_client)
        if (!kernel.code && kernel.shared_memory.count > most)
          throw InputError({"--world cuda", 0}, "workload",
                           to_text(kernel.shared_memory) + " of shared memory in a block",
                           "at most " + to_text(Bytes{most}));
    for (const Variant& variant : variants()) {
      cuda_check(cudaFuncSetAttribute(variant.code, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                 "cudaFuncSetAttribute");
      cuda_check(cudaFuncSetAttribute(variant.code, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      cudaSharedmemCarveoutMaxShared),
                 "cudaFuncSetAttribute");
      cudaFuncAttributes attributes;
      cuda_check(cudaFuncGetAttributes(&attributes, variant.code), "cudaFuncGetAttributes");
      const std::uint32_t wanted = (variant.registers + 7) / 8;  // registers are given out in eights
      if ((static_cast<std::uint32_t>(attributes.numRegs) + 7) / 8 != wanted)
        throw RunError("a kernel meant to take " + std::to_string(variant.registers) + " registers takes " +
                       std::to_string(attributes.numRegs));
    }
  }

  void make_streams() {
    int least = 0, greatest = 0;
    cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    for (const NativeStream& stream : setup_.streams) {
      if (stream.null) {
        streams_.push_back(cudaStreamLegacy);
        continue;
      }
      own_streams_.push_back(new_stream(cudaStreamDefault, std::max(greatest, least - stream.priority)));
      streams_.push_back(own_streams_.back().get());
    }
    service_ = new_stream(cudaStreamNonBlocking, least);  // last, so that it takes no other's channel
  }

  void make_problems() {
    for (const auto& of_client : setup_.kernels) {
      auto& problems = problems_.emplace_back();
      for (const NativeKernel& kernel : of_client)
        problems.push_back(kernel.code ? kernel.code->on_cuda(kernel.input_seed) : nullptr);
    }
    each_problem([&](const CudaProblem&) {
      if (!session_) session_ = std::make_unique<preemptible::Session>();  // it has streams of its own
    });
  }

  // First uses are slow, because CUDA loads code and makes queues.
  void first_steps() {
    DeviceArray<preemptible::Words> start(1);
    for (const cudaStream_t stream : streams_)
      launch(stream, variants().front().code, 1, dim3(32), {}, {}, spare_.data());
    if (session_) session_->originals_in(preemptible::Place{streams_[0], start.data(), signals_.data()});
    each_problem(
        [&](const CudaProblem& problem) { carried_out([&] { problem.launch_original(*session_); }); });
    for (const Variant& variant : variants())
      launch(streams_[0], variant.code, 1, dim3(32), {}, {}, spare_.data());
    if (here_) {
      const std::size_t little = std::min<std::size_t>(there_.size(), 4096);
      cuda_check(cudaMemcpyAsync(there_.data(), here_.get(), little, cudaMemcpyHostToDevice, streams_[0]),
                 "cudaMemcpyAsync");
      cuda_check(cudaMemcpyAsync(here_.get(), there_.data(), little, cudaMemcpyDeviceToHost, streams_[0]),
                 "cudaMemcpyAsync");
    }
    DeviceArray<unsigned long long> step(1);
    busy::find_clock_step<<<1, 1, 0, service_.get()>>>(step.data());
    cuda_check(cudaGetLastError(), "launch of find_clock_step");
    if (!rest(kPatience)) throw RunError("the GPU does not become idle");
    unsigned long long ns = 0;
    cuda_check(cudaMemcpy(&ns, step.data(), sizeof ns, cudaMemcpyDeviceToHost),
               "cudaMemcpy of a clock's step");
    if (ns > static_cast<unsigned long long>(kCoarsest.ns))
      throw RunError("the GPU's clock (%globaltimer) goes in steps of " +
                     to_text(Duration{static_cast<std::int64_t>(ns)}) + ", too coarse to time blocks");
  }

  const NativeSetup setup_;
  DeviceArray<char> there_;
  DeviceArray<busy::Stamp> spare_{1024};
  DeviceArray<preemptible::Signals> signals_{1};  // nobody reads them
  std::unique_ptr<DeviceArray<busy::Stamp>> stamps_;
  std::unique_ptr<DeviceArray<preemptible::Words>> starts_;          // by start: one launch's words each
  std::vector<std::vector<std::unique_ptr<CudaProblem>>> problems_;  // by client; none: busy blocks
  void* place_ = nullptr;
  std::unique_ptr<void, FreeHost> here_;
  std::unique_ptr<Words, FreeHost> words_;
  Words* words_there_ = nullptr;  // as the device addresses them
  std::array<std::array<Event, 2>, kReferences> references_;
  std::vector<Event> ended_;  // by event
  std::vector<OwnStream> own_streams_;
  std::vector<cudaStream_t> streams_;
  OwnStream service_;
  std::unique_ptr<preemptible::Session> session_;  // destroyed first; its own streams are not used
};

}  // namespace gangway::native

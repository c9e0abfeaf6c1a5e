#include "hw/cuda/native_world.hpp"

#ifdef __CUDACC__

#include <algorithm>
#include <array>
#include <thread>

#include "hw/clock.hpp"
#include "hw/cuda/busy_kernel.cuh"
#include "hw/cuda/device_array.cuh"
#include "hw/native/trace_builder.hpp"
#include "models/run/lateness.hpp"

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kWarmUp = 300_ms;     // a GPU's clocks rise under load
constexpr Duration kLookAfter = 500_us;  // between looks at what need not be seen at once
constexpr Duration kPatience = 20_s;     // for the GPU to come to rest before and after runs
constexpr Duration kCoarsest = 1_us;     // step of the device's clock
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

OwnStream new_stream(unsigned flags, int priority) {
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithPriority(&stream, flags, priority), "cudaStreamCreateWithPriority");
  return OwnStream(stream);
}
Event new_event() {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}
std::int64_t ns_between(const Event& from, const Event& to) {
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
const void* code_with(std::uint32_t registers) {
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
// rate is that since `first`, long before; the run's own pairs tell the rest.
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

// All that lives on the device, so that it can be left alone as one.
class OnDevice {
 public:
  explicit OnDevice(const NativePlan& plan) : there_(static_cast<std::uint64_t>(plan.longest_copy().count)) {
    cuda_check(cudaSetDevice(0), "cudaSetDevice");
    check_kernels(plan);
    make_streams(plan);
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
    first_steps();
  }

  // Makes room for a run and clears it. Waits and allocates.
  void prepare(const NativePlan& plan) {
    if (!stamps_ || stamps_->size() < plan.stamps())
      stamps_ = std::make_unique<DeviceArray<busy::Stamp>>(plan.stamps());
    if (stamps_->size() > 0) stamps_->fill_bytes(0);
    while (copied_.size() < plan.copies()) copied_.push_back(new_event());
  }

  void warm_up() {
    for (const auto began = HostClock::now(); HostClock::now() - began < kWarmUp;) {
      launch(streams_[0], variants().front().code, 264, dim3(1024), {}, 1_ms, spare_.data());
      rest(kPatience);
    }
  }

  // These return at once unless the driver's queue is full.
  void issue(const NativePlan& plan, const NativeOperation& operation) {
    const cudaStream_t stream = streams_[operation.stream];
    if (!operation.copy) {
      const NativeKernel& kernel = plan.kernel(operation);
      const dim3 block(static_cast<unsigned>(kernel.block[0]), static_cast<unsigned>(kernel.block[1]),
                       static_cast<unsigned>(kernel.block[2]));
      return launch(stream, code_with(kernel.registers), kernel.blocks, block, kernel.shared_memory,
                    kernel.length, stamps_->data() + operation.first_stamp);
    }
    const auto size = static_cast<std::size_t>(operation.size.count);
    if (operation.direction == CopyDirection::to_device)
      cuda_check(cudaMemcpyAsync(there_.data(), here_.get(), size, cudaMemcpyHostToDevice, stream),
                 "cudaMemcpyAsync");
    else
      cuda_check(cudaMemcpyAsync(here_.get(), there_.data(), size, cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyAsync");
    cuda_check(cudaEventRecord(copied_[operation.copy_number].get(), stream), "cudaEventRecord");
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
    if (!rest(kPatience)) throw RunError("the GPU does not come to rest");
    return best;
  }

  // The device's clock when an event happened is this and the event's distance from the reference. Waits.
  struct Reference {
    std::int64_t device = 0;
    Duration uncertainty;
  };
  // A block that tells its time happened between the events around it: so does what the first event's time is
  // on the block's clock.
  Reference reference() {
    for (std::size_t i = 0; i < references_.size(); ++i) {
      cuda_check(cudaEventRecord(references_[i][0].get(), service_.get()), "cudaEventRecord");
      launch(service_.get(), variants().front().code, 1, dim3(32), {}, {}, spare_.data() + i);
      cuda_check(cudaEventRecord(references_[i][1].get(), service_.get()), "cudaEventRecord");
      if (!rest(kPatience)) throw RunError("the GPU does not come to rest");
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
  std::int64_t since_reference(std::uint32_t copy) const {
    return ns_between(references_[0][0], copied_[copy]);
  }

  // Waits.
  std::vector<busy::Stamp> stamps(std::uint64_t count) const {
    std::vector<busy::Stamp> out(count);
    if (count > 0)
      cuda_check(cudaMemcpy(out.data(), stamps_->data(), count * sizeof out[0], cudaMemcpyDeviceToHost),
                 "cudaMemcpy of stamps");
    return out;
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
  static void check_kernels(const NativePlan& plan) {
    int most = 0;
    cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
               "cudaDeviceGetAttribute");
    for (const auto& of_client : plan.kernels())
      for (const NativeKernel& kernel : of_client)
        if (kernel.shared_memory.count > most)
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

  void make_streams(const NativePlan& plan) {
    int least = 0, greatest = 0;
    cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    for (const NativeStream& stream : plan.streams()) {
      if (stream.null) {
        streams_.push_back(cudaStreamLegacy);
        continue;
      }
      own_streams_.push_back(new_stream(cudaStreamDefault, std::max(greatest, least - stream.priority)));
      streams_.push_back(own_streams_.back().get());
    }
    service_ = new_stream(cudaStreamNonBlocking, least);  // last, so that it takes no other's channel
  }

  // What comes first is slow, as CUDA loads code and makes queues then.
  void first_steps() {
    for (const cudaStream_t stream : streams_)
      launch(stream, variants().front().code, 1, dim3(32), {}, {}, spare_.data());
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
    if (!rest(kPatience)) throw RunError("the GPU does not come to rest");
    unsigned long long ns = 0;
    cuda_check(cudaMemcpy(&ns, step.data(), sizeof ns, cudaMemcpyDeviceToHost),
               "cudaMemcpy of a clock's step");
    if (ns > static_cast<unsigned long long>(kCoarsest.ns))
      throw RunError("the GPU's clock (%globaltimer) goes in steps of " +
                     to_text(Duration{static_cast<std::int64_t>(ns)}) + ", too coarse to time blocks");
  }

  DeviceArray<char> there_;
  DeviceArray<busy::Stamp> spare_{1024};
  std::unique_ptr<DeviceArray<busy::Stamp>> stamps_;
  void* place_ = nullptr;
  std::unique_ptr<void, FreeHost> here_;
  std::unique_ptr<Words, FreeHost> words_;
  Words* words_there_ = nullptr;  // as the device addresses them
  std::array<std::array<Event, 2>, kReferences> references_;
  std::vector<Event> copied_;  // by copy
  std::vector<OwnStream> own_streams_;
  std::vector<cudaStream_t> streams_;
  OwnStream service_;
};

class NativeCudaWorld : public World {
 public:
  explicit NativeCudaWorld(const WorldSetup& setup)
      : setup_(setup), plan_(setup), on_(std::make_unique<OnDevice>(plan_)) {}
  ~NativeCudaWorld() override { leave(); }
  NativeCudaWorld(const NativeCudaWorld&) = delete;
  NativeCudaWorld& operator=(const NativeCudaWorld&) = delete;

  std::uint64_t run(Policy&, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) override {
    if (!on_) throw RunError("the device was given up after operations that did not end");
    plan_.lay_out(seed, order);
    measured_ = {};
    measured_.issued.resize(plan_.operations().size());
    on_->prepare(plan_);
    if (!first_) {
      first_ = on_->synchronise_clocks();
      on_->warm_up();
    }
    const auto reference = on_->reference();
    const ClockPair before = on_->synchronise_clocks();
    origin_ = HostClock::now();
    try {
      const SchedulerClock thread;
      lateness_ = {};
      const Duration had = thread.processor_time();
      play(trace);
      const Duration lasted = clock() - Time{};
      lateness_.add_thread(lasted, lasted - (thread.processor_time() - had));
      wait();
      collect({*first_, before, on_->synchronise_clocks()}, reference);
    } catch (...) {
      leave();
      throw;
    }
    build_trace(plan_, measured_, setup_.horizon, trace);
    trace.late(lateness_);
    return measured_.operations;
  }

 private:
  Time clock() const { return Time{} + (HostClock::now() - origin_); }

  // Allocates nothing.
  void play(const TraceSink& trace) {
    Time looked{};
    for (const NativeRelease& release : plan_.releases()) {
      for (Time now = clock(); now < release.time; now = clock()) {
        pause_briefly();
        if (now - looked < kLookAfter) continue;
        looked = now;
        if (trace.stopped()) return;
      }
      lateness_.add(clock() - release.time);
      for (const NativeOperation& operation : release.operations) {
        measured_.issued[measured_.operations++] = clock();
        on_->issue(plan_, operation);
      }
      ++measured_.releases;
    }
  }

  void wait() {
    if (!on_->rest(setup_.watchdog))
      throw RunError("the GPU has not done what was issued " + to_text(setup_.watchdog) +
                     " after the last of it, the watchdog's limit");
  }

  void collect(const ClockMap& clocks, const OnDevice::Reference& reference) {
    const auto time = [&](std::int64_t device) { return Time{} + (clocks.host(device) - origin_); };
    const bool copies = plan_.copies() > 0;
    measured_.uncertainty = clocks.uncertainty() + (copies ? reference.uncertainty : Duration{});
    const auto stamps = on_->stamps(plan_.stamps());
    measured_.blocks.reserve(stamps.size());
    for (const busy::Stamp& stamp : stamps)
      measured_.blocks.push_back({time(static_cast<std::int64_t>(stamp.began)),
                                  time(static_cast<std::int64_t>(stamp.ended)), stamp.sm});
    measured_.copied.resize(plan_.copies());
    for (std::size_t i = 0; i < measured_.operations; ++i) {
      const NativeOperation& operation = plan_.operations()[i];
      if (operation.copy) {
        measured_.copied[operation.copy_number] =
            time(reference.device + on_->since_reference(operation.copy_number));
        continue;
      }
      for (std::uint64_t b = 0; b < plan_.kernel(operation).blocks; ++b)
        if (stamps[operation.first_stamp + b].ended == 0)
          throw RunError("block " + std::to_string(b) + " of launch " +
                         std::to_string(operation.launch.value) + " left no stamp");
    }
  }

  // What cannot be waited for is left on the device: freeing what it touches would wait for ever.
  void leave() noexcept {
    if (!on_) return;
    try {
      if (on_->rest(kPatience)) return;
    } catch (...) {  // the device is broken
    }
    (void)on_.release();
  }

  const WorldSetup setup_;
  NativePlan plan_;
  std::unique_ptr<OnDevice> on_;
  NativeMeasurement measured_;
  Lateness lateness_;
  HostClock::Instant origin_;
  std::optional<ClockPair> first_;
};

}  // namespace

std::unique_ptr<World> make_native_cuda_world(const WorldSetup& setup) {
  return std::make_unique<NativeCudaWorld>(setup);
}

}  // namespace gangway

#else

#include "hw/cuda/without_cuda.hpp"
#include "models/error.hpp"

namespace gangway {

std::unique_ptr<World> make_native_cuda_world(const WorldSetup&) { throw RunError(kBuiltWithoutCuda); }

}  // namespace gangway

#endif

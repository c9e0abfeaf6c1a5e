#include "hw/cuda/native_player.hpp"

#ifdef __CUDACC__

#include <optional>

#include "hw/cuda/native_on_device.cuh"

namespace gangway {
namespace {

using namespace literals;
using native::ClockMap, native::ClockPair, native::OnDevice;

constexpr Duration kLookAfter = 500_us;  // between looks at what need not be seen at once

class CudaPlayer : public NativePlayer {
 public:
  explicit CudaPlayer(const NativeSetup& setup)
      : watchdog_(setup.watchdog), on_(carried_out([&] { return std::make_unique<OnDevice>(setup); })) {}
  ~CudaPlayer() override { leave(); }
  CudaPlayer(const CudaPlayer&) = delete;
  CudaPlayer& operator=(const CudaPlayer&) = delete;

  void prepare(const NativeRun& run) override {
    run_ = &run;
    on_->prepare(run);
    if (!first_) {  // not before: other processes may have been at work
      first_ = on_->synchronise_clocks();
      on_->warm_up();
    }
    reference_ = on_->reference();
    before_ = on_->synchronise_clocks();
  }

  NativeMeasurement play(HostClock::Instant origin, const std::function<bool()>& stopped) override {
    origin_ = origin;
    NativeMeasurement measured;
    measured.issued.resize(run_->operations.size());
    measured.late.reserve(run_->releases.size());
    try {
      const SchedulerClock thread;
      const Duration had = thread.processor_time();
      const auto began = HostClock::now();
      issue_all(measured, stopped);
      measured.lasted = HostClock::now() - began;
      measured.off_cpu = measured.lasted - (thread.processor_time() - had);
      if (!on_->rest(watchdog_))
        throw RunError("the GPU has not done what was issued " + to_text(watchdog_) +
                       " after the last of it, the watchdog's limit");
    } catch (...) {
      leave();
      throw;
    }
    return measured;
  }

  void collect(NativeMeasurement& measured) override {
    const ClockMap clocks(*first_, before_, on_->synchronise_clocks());
    const auto time = [&](std::int64_t device) { return Time{} + (clocks.host(device) - origin_); };
    measured.uncertainty = clocks.uncertainty() + (run_->events > 0 ? reference_.uncertainty : Duration{});
    const auto stamps = on_->stamps(run_->stamps);
    measured.blocks.reserve(stamps.size());
    for (const busy::Stamp& stamp : stamps)
      measured.blocks.push_back({time(static_cast<std::int64_t>(stamp.began)),
                                 time(static_cast<std::int64_t>(stamp.ended)), stamp.sm});
    const auto starts = on_->starts(run_->starts);
    for (const std::int64_t start : starts) measured.began.push_back(time(start));
    measured.ended.resize(run_->events);
    for (std::size_t i = 0; i < measured.operations; ++i) {
      const NativeOperation& operation = run_->operations[i];
      if (operation.coded && starts[operation.start] == 0) left_no_stamp(0, operation);
      if (operation.timed_by_event()) {
        measured.ended[operation.event] = time(reference_.device + on_->since_reference(operation.event));
        continue;
      }
      const std::uint64_t next =
          i + 1 < run_->operations.size() ? run_->operations[i + 1].first_stamp : run_->stamps;
      for (std::uint64_t b = operation.first_stamp; b < next; ++b)
        if (stamps[b].ended == 0) left_no_stamp(b - operation.first_stamp, operation);
    }
  }

  void poison() override {
    on_->each_problem([](CudaProblem& problem) { problem.poison(); });
  }
  std::string difference() override {
    std::string first;
    on_->each_problem([&](const CudaProblem& problem) {
      if (first.empty()) first = problem.difference();
    });
    return first;
  }

 private:
  [[noreturn]] static void left_no_stamp(std::uint64_t block, const NativeOperation& operation) {
    throw RunError("block " + std::to_string(block) + " of launch " + std::to_string(operation.launch.value) +
                   " left no stamp");
  }

  // Allocates nothing.
  void issue_all(NativeMeasurement& measured, const std::function<bool()>& stopped) {
    auto looked = origin_;
    for (const NativeRelease& release : run_->releases) {
      const auto due = origin_ + (release.time - Time{});
      for (auto now = HostClock::now(); now < due; now = HostClock::now()) {
        pause_briefly();
        if (now - looked < kLookAfter) continue;
        looked = now;
        if (stopped()) return;
      }
      measured.late.push_back(HostClock::now() - due);
      for (const NativeOperation& operation : run_->operations_of(release)) {
        measured.issued[measured.operations++] = Time{} + (HostClock::now() - origin_);
        on_->issue(operation);
      }
      ++measured.releases;
    }
  }

  // What cannot be waited for is left on the device: freeing what it touches would wait for ever.
  void leave() noexcept {
    if (!on_) return;
    try {
      if (on_->rest(native::kPatience)) return;
    } catch (...) {  // the device is broken
    }
    (void)on_.release();
  }

  const Duration watchdog_;
  std::unique_ptr<OnDevice> on_;
  std::optional<ClockPair> first_;  // long before all runs
  const NativeRun* run_ = nullptr;
  HostClock::Instant origin_;
  OnDevice::Reference reference_;
  ClockPair before_;
};

}  // namespace

std::unique_ptr<NativePlayer> make_native_cuda_player(const NativeSetup& setup) {
  return std::make_unique<CudaPlayer>(setup);
}

}  // namespace gangway

#else

#include "hw/cuda/without_cuda.hpp"
#include "models/error.hpp"

namespace gangway {

std::unique_ptr<NativePlayer> make_native_cuda_player(const NativeSetup&) {
  throw RunError(kBuiltWithoutCuda);
}

}  // namespace gangway

#endif

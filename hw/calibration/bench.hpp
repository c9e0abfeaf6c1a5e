// A device with kernels, and ways to time things on it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/calibration/calibration.hpp"
#include "hw/clock.hpp"
#include "hw/real_device.hpp"
#include "models/mechanism.hpp"
#include "models/random.hpp"

namespace gangway {

// A kernel's name in readings.
inline std::string label(const Client& client, const Kernel& kernel) {
  return client.name == kernel.name ? kernel.name : client.name + "." + kernel.name;
}

inline constexpr Duration kBenchLimit{20'000'000'000};  // for any single action

class Bench {
 public:
  Bench(const RealDeviceEntry& entry, const Device& device, std::vector<Client> clients,
        const std::string& mechanism, std::uint64_t seed, Calibration& out, const std::atomic<bool>& stop)
      : out_(out),
        mechanism_(mechanism),
        stop_(stop),
        random_(seed, "calibration", {static_cast<std::uint32_t>(out.readings.size())}) {
    workload_.name = "calibration";
    workload_.clients = std::move(clients);
    device_ = device;
    const MechanismEntry& known = Mechanisms::named(mechanism, "calibration", "mechanism");
    cost_ = known.make(ParameterValues(known.parameters, std::nullopt));
    real_ = entry.make({.workload = workload_, .device = device_, .mechanism = *cost_});
  }
  ~Bench() {
    if (!real_->settle(kBenchLimit)) static_cast<void>(real_.release());
  }

  RealDevice& device() { return *real_; }
  const Workload& workload() const { return workload_; }
  const Kernel& kernel(KernelIndex k) const { return workload_.clients[k.client].kernels[k.kernel]; }
  Stream& random() { return random_; }

  void read(const std::string& quantity, KernelIndex k, std::int64_t parameter, Duration value) {
    out_.readings.push_back({quantity, mechanism_, label(workload_.clients[k.client], kernel(k)), parameter,
                             static_cast<double>(value.ns)});
  }
  void read_copy(const std::string& quantity, std::int64_t bytes, Duration value) {
    out_.readings.push_back({quantity, mechanism_, "", bytes, static_cast<double>(value.ns)});
  }

  template <typename Condition>
  HostClock::Instant wait(Condition condition) {
    const auto began = HostClock::now();
    for (auto checked = began;;) {
      const bool over = condition();
      const auto now = HostClock::now();
      if (over) return now;
      real_->relax();
      if (now - checked < Duration{1'000'000}) continue;
      checked = now;
      if (stop_) throw RunError("interrupted");
      if (const std::string fault = real_->fault(); !fault.empty()) throw RunError(fault);
      if (now - began > kBenchLimit) throw RunError("a kernel did not end within " + to_text(kBenchLimit));
    }
  }
  void pause(Duration length) {
    const auto until = HostClock::now() + length;
    while (HostClock::now() < until) pause_briefly();
  }

  struct Launched {
    HostClock::Instant ordered, started;
  };
  Launched launch(KernelIndex k, BlockCount first = {}) {
    Launched l;
    l.ordered = HostClock::now();
    real_->launches().launch(k, {first, kernel(k).block_tasks});
    l.started = wait([&] { return real_->launches().started(); });
    return l;
  }
  struct Over {
    HostClock::Instant gone, known;
    BlockCount done;
  };
  Over over() {
    Over o;
    o.gone = wait([&] { return real_->launches().gone(); });
    real_->launches().ask_pending_work();
    std::optional<BlockCount> done;
    o.known = wait([&] { return (done = real_->launches().pending_work()).has_value(); });
    o.done = *done;
    return o;
  }
  // Runs the launch to its end. None if the scheduler saw less of it than the device's clock shows: another
  // thread had its core.
  std::optional<Duration> whole(KernelIndex k) {
    const auto l = launch(k);
    return undisturbed(over().gone - l.started);
  }
  std::optional<Duration> original(KernelIndex k) {
    real_->probes().launch_original(k);
    const auto started = wait([&] { return real_->launches().started(); });
    return undisturbed(wait([&] { return real_->launches().gone(); }) - started);
  }
  std::optional<Duration> undisturbed(Duration seen) {
    if (seen.ns < real_->probes().device_time().ns / 10 * 9) return std::nullopt;
    return seen;
  }

 private:
  Calibration& out_;
  std::string mechanism_;
  const std::atomic<bool>& stop_;
  Stream random_;
  Workload workload_;
  Device device_;
  std::unique_ptr<Mechanism> cost_;
  std::unique_ptr<RealDevice> real_;
};

}  // namespace gangway

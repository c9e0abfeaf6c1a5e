#include "hw/native/native_world.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hw/mps_daemon.hpp"
#include "hw/native/plan.hpp"
#include "hw/native/process.hpp"
#include "hw/native/trace_builder.hpp"
#include "hw/native/wire.hpp"
#include "models/run/lateness.hpp"

namespace gangway {
namespace {

using Json = nlohmann::json;
using namespace literals;

// Plays a run, wherever that is.
class NativeStage {
 public:
  virtual ~NativeStage() = default;
  virtual NativeMeasurement play(const NativePlan& plan, const TraceSink& trace) = 0;
};

class InThisProcess : public NativeStage {
 public:
  InThisProcess(const NativePlan& plan, const MakeNativePlayer& make) : player_(make(plan.on_device())) {}

  NativeMeasurement play(const NativePlan& plan, const TraceSink& trace) override {
    player_->prepare(plan.run());
    NativeMeasurement measured = player_->play(HostClock::now(), [&] { return trace.stopped(); });
    player_->collect(measured);
    return measured;
  }

 private:
  std::unique_ptr<NativePlayer> player_;
};

class InProcesses : public NativeStage {
 public:
  InProcesses(const NativePlan& plan, const std::vector<std::string>& command) {
    if (plan.under_mps()) {
      mps_ = MpsDaemon::start();
      if (mps_ == nullptr)
        throw RunError(
            "device.arbitration: mps: no control daemon (nvidia-cuda-mps-control -d) can be started");
    }
    const auto environment = mps_ ? mps_->environment() : std::vector<std::string>{};
    for (const auto& clients : plan.processes()) {  // time slices go round in the order of contexts' creation
      processes_.push_back(
          std::make_unique<NativeProcess>(plan.client(clients.front()).name, command, environment));
      processes_.back()->ask({{"setup", wire(part_of(plan.on_device(), clients))}});
      processes_.back()->answer();
    }
  }

  NativeMeasurement play(const NativePlan& plan, const TraceSink& trace) override {
    std::vector<NativePart> parts;
    for (const auto& clients : plan.processes())
      parts.push_back(part_of(plan.run(), plan.on_device(), clients));
    one_after_the_other([&](std::size_t p) { return Json{{"prepare", wire(parts[p].run)}}; });
    // All must have read it by then.
    const auto origin =
        HostClock::now() + 2_ms + Duration{200'000 * static_cast<std::int64_t>(processes_.size())};
    for (auto& process : processes_) process->ask({{"play", origin.ns}});
    wait(trace);
    std::vector<NativeMeasurement> measured;
    one_after_the_other(
        [](std::size_t) {
          return Json{{"collect", true}};
        },
        [&](const Json& said) { measured.push_back(measurement_from_wire(said)); });
    return together(plan.run(), parts, measured);
  }

 private:
  // Each wants the device for itself.
  template <typename Question, typename Take>
  void one_after_the_other(const Question& question, const Take& take) {
    for (std::size_t p = 0; p < processes_.size(); ++p) {
      processes_[p]->ask(question(p));
      take(processes_[p]->answer());
    }
  }
  template <typename Question>
  void one_after_the_other(const Question& question) {
    one_after_the_other(question, [](const Json&) {});
  }

  void wait(const TraceSink& trace) {
    bool told = false;
    for (auto& process : processes_) {
      while (!process->answered(5_ms)) {
        if (told || !trace.stopped()) continue;
        for (auto& one : processes_) one->ask({{"stop", true}});
        told = true;
      }
      process->answer();
    }
  }

  std::unique_ptr<MpsDaemon> mps_;  // its clients end before it
  std::vector<std::unique_ptr<NativeProcess>> processes_;
};

class NativeWorld : public World {
 public:
  NativeWorld(const WorldSetup& setup, const MakeNativePlayer& make, std::vector<std::string> (*command)())
      : horizon_(setup.horizon), plan_(setup) {
    if (plan_.processes().empty())
      stage_ = std::make_unique<InThisProcess>(plan_, make);
    else
      stage_ = std::make_unique<InProcesses>(plan_, command());
  }

  std::uint64_t run(Policy&, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) override {
    if (!stage_) throw RunError("the device was given up after a run that failed");
    plan_.lay_out(seed, order);
    NativeMeasurement measured;
    try {
      measured = stage_->play(plan_, trace);
    } catch (...) {
      stage_.reset();
      throw;
    }
    build_trace(plan_, measured, horizon_, trace);
    Lateness lateness;
    for (const Duration late : measured.late) lateness.add(late);
    lateness.add_thread(measured.lasted, measured.off_cpu);
    trace.late(lateness);
    return measured.operations;
  }

 private:
  const Time horizon_;
  NativePlan plan_;
  std::unique_ptr<NativeStage> stage_;
};

}  // namespace

std::unique_ptr<World> make_native_world(const WorldSetup& setup, MakeNativePlayer make,
                                         std::vector<std::string> (*command)()) {
  return std::make_unique<NativeWorld>(setup, make, command);
}

}  // namespace gangway

// The world `sim`: on a device whose kernels a policy launches and native clients share, or on one to whose
// channels clients submit by themselves, or recorded programs that share it.
#include <optional>

#include "sim/channels/channel_world.hpp"
#include "sim/recorded/recorded_world.hpp"
#include "sim/simulation_refusals.hpp"
#include "sim/world.hpp"

namespace gangway {
namespace {

class Simulation : public World {
 public:
  explicit Simulation(const WorldSetup& setup) : setup_(setup) {}

  std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) override {
    if (plays_recordings(setup_.workload)) {
      if (!recorded_) recorded_.emplace(setup_);
      return recorded_->run(policy, seed, order, trace);
    }
    if (uses_channels(policy, setup_.device)) {
      if (!channels_) channels_.emplace(setup_);
      return channels_->run(policy, seed, order, trace);
    }
    if (!gpu_) gpu_.emplace(setup_);
    return gpu_->run(policy, seed, order, trace);
  }

 private:
  WorldSetup setup_;
  std::optional<SimulatedWorld> gpu_;
  std::optional<ChannelWorld> channels_;
  std::optional<RecordedWorld> recorded_;
};

const Registration<WorldEntry> registered_simulation{WorldEntry{
    {"sim", "discrete-event simulation", {}},
    {Capability::evict, Capability::ranges, Capability::memory, Capability::access, Capability::sampling,
     Capability::native, Capability::mixed, Capability::intercept},
    check_simulation,
    [](const WorldSetup& setup) -> std::unique_ptr<World> { return std::make_unique<Simulation>(setup); },
    false,
    nullptr,
    true}};

}  // namespace
}  // namespace gangway

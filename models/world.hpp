// A world plays a workload under a policy and writes the trace.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/device.hpp"
#include "models/granting.hpp"
#include "models/mechanism.hpp"
#include "models/placing.hpp"
#include "models/policy.hpp"
#include "models/trace.hpp"
#include "models/workload.hpp"

namespace gangway {

class WatchedRun;

// Seeds of a run's random numbers, the same for every policy.
struct RunSeed {
  std::uint64_t seed = 1;
  std::uint32_t replication = 0;
  std::uint32_t permutation = 0;
};

// The input of a world. The references must outlive it.
struct WorldSetup {
  const Workload& workload;
  const Device& device;
  const Mechanism& mechanism;
  bool standalone_transformed = true;  // else original
  Time horizon = Time::max();          // events at this time are still played
  Duration watchdog{10'000'000'000};   // limit on a real launch's stay, and on its eviction
  std::uint64_t input_seed = 1;        // of the data that real kernels process
  bool by_block = false;               // simulation: one event per block, for tests; results are the same
  WatchedRun* watch = nullptr;         // is told of each policy call; may be null
  Granting granting = {};
  Placing placing = Placing::fixed;  // of recorded clients
  // Some policy of the experiment takes forms, so all programs are started with forms.
  bool takes_forms = false;
  // Some policy of the experiment moves memory, so all are played with the same programs, whose memory can
  // leave.
  bool moves_memory = false;
};

class World {
 public:
  virtual ~World() = default;
  // Plays one run from time 0. `order` lists all clients by arrival (used where the workload derives arrivals
  // from positions). Returns the number of events. Throws RunError, with history, if the policy gives an
  // impossible order, throws or never ends (models/policy.hpp), or the device fails. The policy must be fresh
  // and within the world's capabilities.
  virtual std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                            TraceSink& trace) = 0;
};

// Whether clients submit to channels of their own: the policy controls access, or the device serves channels
// in turn.
inline bool uses_channels(Capabilities needs, const Device& device) {
  return needs.has(Capability::access) ||
         (needs.has(Capability::native) && device.arbitration == Arbitration::direct);
}
inline bool uses_channels(const Policy& policy, const Device& device) {
  return uses_channels(policy.needs(), device);
}

// A real world's machine, for the manifest.
struct Machine {
  std::string gpu, driver;
};

// A policy with the clients of one experiment point, for a world to accept or refuse.
struct WorldRequest {
  const WorldSetup& setup;        // with sample clients where clients are drawn
  const Policy& policy;           // fresh
  const std::string& label;       // of the policy in the experiment
  const WorkloadPlace& workload;  // for errors
  Origin gpus;                    // where the number of GPUs is given
  std::string gpus_path;
  Origin grant;  // where the grant is given
  std::string grant_path;
  Origin place = {};       // where the policy is given
  Origin time_slice = {};  // where the device's time slices are given
  std::string time_slice_path = {};
};

// Worlds register themselves by name and have no parameters.
struct WorldEntry : Described {
  Capabilities capabilities;
  // Called before anything runs. Throws InputError for what this world cannot play, as far as that is known
  // without its device.
  void (*check)(const WorldRequest&, const WorldEntry&) = nullptr;
  // Throws InputError for what only the device can tell and for clients drawn later; RunError if the device
  // is unusable.
  std::unique_ptr<World> (*make)(const WorldSetup&) = nullptr;
  bool real_time = false;          // one run at a time; runs are not repeatable
  Machine (*machine)() = nullptr;  // throws RunError if there is none
  bool recordings = false;         // plays recorded clients
  bool programs = false;           // runs clients that are programs, and no others
  // Measures clients alone before a unit's runs; the workload is the setup's. False: `stop` was set. Throws
  // RunError.
  bool (*measure_alone)(const WorldSetup&, Workload&, const std::atomic<bool>& stop) = nullptr;
};
using Worlds = Registry<WorldEntry>;

// Throws InputError if the policy needs more than the world offers, or than whole-job grants offer if
// requested, or if native clients cannot be combined with it there.
void check_capabilities(const WorldRequest& request, const WorldEntry& world);

}  // namespace gangway

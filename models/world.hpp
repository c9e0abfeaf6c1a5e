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

// Which random numbers a run draws: same numbers for every policy.
struct RunSeed {
  std::uint64_t seed = 1;
  std::uint32_t replication = 0;
  std::uint32_t permutation = 0;
};

// What a world plays. The references must outlive the world.
struct WorldSetup {
  const Workload& workload;
  const Device& device;
  const Mechanism& mechanism;
  bool standalone_transformed = true;  // else original
  Time horizon = Time::max();          // events at this time are the last
  Duration watchdog{10'000'000'000};   // a real launch may stay this long, and an eviction may take so long
  std::uint64_t input_seed = 1;        // of the data that real kernels work on
  bool by_block = false;        // simulation: each block an event of its own, for tests; results are the same
  WatchedRun* watch = nullptr;  // told of each call of the policy, where somebody looks after it
  Granting granting = {};
  Placing placing = Placing::fixed;  // of recorded clients
};

class World {
 public:
  virtual ~World() = default;
  // Plays one run from time 0. `order` lists all clients in the order in which they arrive (used where the
  // workload lays out arrivals by position). Returns the number of events. Throws RunError when the policy
  // orders something impossible, throws or never ends (models/policy.hpp), with the history around it, or
  // when the device fails. The policy must be fresh and need no more than the world's capabilities.
  virtual std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                            TraceSink& trace) = 0;
};

// Whether the policy's clients submit to channels of their own: it controls access, or leaves all to a device
// that serves channels in turn.
inline bool uses_channels(const Policy& policy, const Device& device) {
  const Capabilities needs = policy.needs();
  return needs.has(Capability::access) ||
         (needs.has(Capability::native) && device.arbitration == Arbitration::direct);
}

// What a real world's machine is, for the manifest.
struct Machine {
  std::string gpu, driver;
};

// One policy with the clients of one point of an experiment, which a world is asked to play.
struct WorldRequest {
  const WorldSetup& setup;        // with a sample of the clients, where those are drawn
  const Policy& policy;           // fresh
  const std::string& label;       // the policy's in the experiment
  const WorkloadPlace& workload;  // for errors
  Origin gpus;                    // where the number of GPUs is given
  std::string gpus_path;
  Origin grant;  // where it is said what launches hand out
  std::string grant_path;
};

// Worlds register themselves by name, like policies; they have no parameters.
struct WorldEntry : Described {
  Capabilities capabilities;
  // Asked before anything runs. Throws InputError for what this world cannot play, wherever that can be known
  // without its device.
  void (*check)(const WorldRequest&, const WorldEntry&) = nullptr;
  // Throws InputError for what only the device can tell, and for clients drawn later; RunError when the
  // device cannot be used.
  std::unique_ptr<World> (*make)(const WorldSetup&) = nullptr;
  bool real_time = false;          // one run at a time, and no two runs are alike
  Machine (*machine)() = nullptr;  // throws RunError when there is none
  bool recordings = false;         // it plays recorded clients
  bool programs = false;           // it runs clients that are programs, and no others
  // Measures what the clients take alone, before a unit's runs; the workload is the setup's. False: `stop`
  // was set. Throws RunError.
  bool (*measure_alone)(const WorldSetup&, Workload&, const std::atomic<bool>& stop) = nullptr;
};
using Worlds = Registry<WorldEntry>;

// Throws InputError where the policy needs more than the world can do, or more than grants of whole jobs
// offer where these are asked for, or native clients are not for this policy there.
void check_capabilities(const WorldRequest& request, const WorldEntry& world);

}  // namespace gangway

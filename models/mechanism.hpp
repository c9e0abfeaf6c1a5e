// Eviction mechanisms: how the scheduler's commands reach a running kernel, and their costs. One
// self-registering file each.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/device.hpp"
#include "models/error.hpp"
#include "models/preemption_level.hpp"
#include "models/registry.hpp"
#include "models/workload.hpp"

namespace gangway {

// Costs of one kernel under one mechanism on one device; sim/README.md defines their effect.
struct CommandDelays {
  Duration launch;
  Duration seen;        // from the evict order until blocks see it
  Duration drain;       // from then until the last block is gone
  Duration drain_work;  // useful part of the drain
  Duration notice;
  Duration pending_work;
  Duration host_wait = {};  // longest wait of a relaunch for the client's host thread, which does other work
  Duration registration = {};  // from the host's call of the kernel until it is eligible
  std::int64_t wave = 0;  // number of block-tasks that end together and cannot be evicted; 0: block-tasks end
                          // evenly over the kernel's time
  // Each block of the launch that has not begun when eviction is ordered starts, finds the flag and leaves.
  // The time that one of them adds to the drain, in ps; 0: blocks are persistent.
  std::int64_t claim_ps = 0;

  std::shared_ptr<const MeasuredLaunches> measured = {};  // of the kernel's launches; null: none
  // Rounds of block-tasks in step between two looks of a block, of which an eviction ends with the last; 0:
  // it ends after the drain.
  std::int64_t rounds = 0;
  double scale = 1;  // scales a measured eviction's delay and the work done meanwhile

  bool ideal = false;  // commands take no time beside copies and after idle times either

  Duration claims(std::int64_t blocks) const { return {mul_div_ceil(blocks, claim_ps, 1000)}; }
};

// Duration of the messages about a client's state in device memory (Share-a-GPU, II-D).
struct MoveDelays {
  Duration order;   // from the restore order until the copy is requested
  Duration notice;  // from the end of the copy until the policy knows
};

struct MechanismEntry;

// The simulated half of a mechanism. Real halves are in hw/mechanisms/.
class Mechanism {
 public:
  virtual ~Mechanism() = default;
  virtual CommandDelays delays(const Kernel& kernel, const Device& device) const = 0;
  // The same, without evictions of the kernel that were measured under a mechanism which evicts in another
  // way. Needs an entry where the kernel says under which they were.
  CommandDelays applicable_delays(const Kernel& kernel, const Device& device) const;
  // Time of the kernel in this mechanism's form, alone on the device, without eviction or jitter.
  virtual Duration running_time(const Kernel& kernel, const Device&) const { return kernel.transformed(); }
  virtual MoveDelays moves() const { return {}; }
  // Why the kernel cannot run under this mechanism on this device; none if it can.
  virtual std::optional<Refusal> refusal(const Kernel&, const Device&) const { return std::nullopt; }

  // The entry that made it, for worlds that execute its commands. Throws std::logic_error if no entry did.
  const MechanismEntry& entry() const;
  const ParameterValues& values() const;

 private:
  friend MechanismEntry;
  const MechanismEntry* entry_ = nullptr;
  std::optional<ParameterValues> values_;
};

// How long a block of the preemptible form works on one block-task: from the file, or by even division among
// persistent blocks.
Duration block_task_length(const Kernel& kernel, const Device& device);

// Whether evictions end with rounds of block-tasks in step: these are known, and nothing measured of
// evictions.
bool evictions_end_rounds(const Kernel& kernel);

struct MechanismEntry : Described {
  PreemptionLevel needs = PreemptionLevel::block_task;
  std::unique_ptr<Mechanism> (*create)(const ParameterValues&) = nullptr;
  std::string evicts_as;  // the mechanism in whose way it evicts; empty: in one of its own

  // The entry must outlive the result, as registered ones do.
  std::unique_ptr<Mechanism> make(const ParameterValues& values) const;
  // Whether it evicts in the same way as another one, so that one's measured evictions tell the other's.
  bool evicts_like(const MechanismEntry& other) const;
};
using Mechanisms = Registry<MechanismEntry>;

// Whether evictions of the kernel were measured, but under a mechanism that evicts in another way.
bool evictions_of_another(const Kernel& kernel, const Mechanism& mechanism);
using ChosenMechanism = Chosen<MechanismEntry>;

template <typename M>
struct MechanismRegistration : Registration<MechanismEntry> {
  MechanismRegistration(std::string name, std::string summary, PreemptionLevel needs,
                        std::vector<Parameter> parameters, std::string evicts_as = {},
                        const std::source_location& where = std::source_location::current())
      : Registration<MechanismEntry>(
            MechanismEntry{{std::move(name), std::move(summary), std::move(parameters)},
                           needs,
                           [](const ParameterValues& values) -> std::unique_ptr<Mechanism> {
                             return std::make_unique<M>(values);
                           },
                           std::move(evicts_as)},
            where) {}
};

}  // namespace gangway

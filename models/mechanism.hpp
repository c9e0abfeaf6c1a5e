// Eviction mechanisms: how the scheduler's commands reach a running kernel, and what they cost. One
// self-registering file each.
#pragma once

#include <memory>

#include "models/device.hpp"
#include "models/registry.hpp"
#include "models/workload.hpp"

namespace gangway {

// The costs of one kernel under one mechanism on one device; sim/README.md says how they act.
struct CommandDelays {
  Duration launch;
  Duration seen;        // from the evict order until blocks see it
  Duration drain;       // from then until the last block is gone
  Duration drain_work;  // the useful part of the drain
  Duration notice;
  Duration pending_work;
};

class Mechanism {
 public:
  virtual ~Mechanism() = default;
  virtual CommandDelays delays(const Kernel& kernel, const Device& device) const = 0;
};

struct MechanismEntry : Described {
  std::unique_ptr<Mechanism> (*make)(const ParameterValues&) = nullptr;
};
using Mechanisms = Registry<MechanismEntry>;
using ChosenMechanism = Chosen<MechanismEntry>;

template <typename M>
struct MechanismRegistration : Registration<MechanismEntry> {
  MechanismRegistration(std::string name, std::string summary, std::vector<Parameter> parameters)
      : Registration<MechanismEntry>(
            MechanismEntry{{std::move(name), std::move(summary), std::move(parameters)},
                           [](const ParameterValues& values) -> std::unique_ptr<Mechanism> {
                             return std::make_unique<M>(values);
                           }}) {}
};

}  // namespace gangway

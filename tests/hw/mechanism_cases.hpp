// The mechanisms that real devices have, as tests go through them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw/real_time_refusals.hpp"
#include "models/mechanism.hpp"

namespace gangway::testing {

// With its default parameters.
inline std::unique_ptr<Mechanism> usual_mechanism(const std::string& name) {
  const MechanismEntry& entry = Mechanisms::named(name, "test", "mechanism");
  return entry.make(ParameterValues(entry.parameters, std::nullopt));
}

// Whether launches under it can be called back in their middle.
inline bool evicts(const std::string& mechanism) {
  return Mechanisms::named(mechanism, "test", "mechanism").needs == PreemptionLevel::block_task;
}

// Those of the device `host`, or `cuda`.
inline std::vector<std::string> mechanisms_on(const std::string& device) {
  return mechanisms_of(RealDevices::named(device, "test", "device"));
}

}  // namespace gangway::testing

// Conductors for the families of policies.
#pragma once

#include <memory>

#include "hw/live/conductor.hpp"

namespace gangway::live {

// Access policies: direct opens the gate, deny closes it. Submissions are not intercepted one by one.
std::unique_ptr<Conductor> access_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                            Journal& journal);

// Native policies: all gates are open.
std::unique_ptr<Conductor> open_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                          Journal& journal);

// Ownership policies: a launch grants the device to the client's job, an eviction revokes the permit.
std::unique_ptr<Conductor> grant_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                           Journal& journal);

// Slicing policies: a launch is a range of a kernel's blocks, or everything else that the job submits.
std::unique_ptr<Conductor> range_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                           Journal& journal);

}  // namespace gangway::live

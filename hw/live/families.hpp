// The families of policies over live clients.
#pragma once

#include <memory>

#include "hw/live/conductor.hpp"

namespace gangway::live {

// Access policies: direct is an open gate, deny a closed one; submissions are not intercepted one by one.
std::unique_ptr<Conductor> access_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                            Journal& journal);

// Native policies: every gate is open.
std::unique_ptr<Conductor> open_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                          Journal& journal);

// Ownership policies: a launch grants the device to the client's job, an eviction takes the permit back.
std::unique_ptr<Conductor> grant_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                           Journal& journal);

}  // namespace gangway::live

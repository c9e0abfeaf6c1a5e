// The two families of policies over live clients.
#pragma once

#include <memory>
#include <string>

#include "hw/live/conductor.hpp"

namespace gangway::live {

// Access policies: direct is an open gate, deny a closed one; submissions are not intercepted one by one.
std::unique_ptr<Conductor> access_conductor(std::unique_ptr<Policy> policy, const GateSettings& settings,
                                            Journal& journal);
bool disengaged(const std::string& policy);

// Ownership policies: a launch is a grant for the client's job, an eviction takes the permit back. A job is
// one kernel of one block-task, so that the contract stays as it is. All that is peculiar to `grant: job` is
// there.
std::unique_ptr<Conductor> grant_conductor(std::unique_ptr<Policy> policy, const GateSettings& settings,
                                           Journal& journal);
bool grants_whole_jobs(const std::string& policy);  // it does not decide by how long jobs take

}  // namespace gangway::live

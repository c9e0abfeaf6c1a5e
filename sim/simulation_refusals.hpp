// What the simulation cannot play.
#pragma once

#include "models/world.hpp"

namespace gangway {

// Throws InputError: memory that does not fit, several GPUs under a policy of one, a kernel that the policy
// or the mechanism cannot take.
void check_simulation(const WorldRequest& request, const WorldEntry& world);

}  // namespace gangway

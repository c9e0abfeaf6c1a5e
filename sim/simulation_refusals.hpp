// Input that the simulation refuses.
#pragma once

#include "models/world.hpp"

namespace gangway {

// Throws InputError: memory that does not fit, several GPUs under a single-GPU policy, a kernel that the
// policy or mechanism cannot handle.
void check_simulation(const WorldRequest& request, const WorldEntry& world);

}  // namespace gangway

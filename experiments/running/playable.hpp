// Whether a world can play the clients of a point under a policy, on its device.
#pragma once

#include <vector>

#include "experiments/sweeps/points.hpp"
#include "models/world.hpp"

namespace gangway {

// The world used to check an experiment when it is read: every experiment can be simulated.
const WorldEntry& simulation();

// Whether one of them moves clients' memory: then all are played with memory that can leave.
bool moves_memory(const std::vector<Contender>& policies);

// Whether the simulation cannot play it but another world may, so reading does not refuse it: programs
// without a recording; on several GPUs, slices of a policy that schedules one, which the world `cuda`
// divides.
bool only_elsewhere(const Contender& contender, const Point& point);

// Throws InputError if the world refuses. `moves`: moves_memory() of all policies of the point.
void check_playable(const WorldEntry& world, const Contender& contender, const Point& point, bool moves);

}  // namespace gangway

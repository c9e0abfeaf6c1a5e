// Whether a world can play the clients of a point under a policy, on its device.
#pragma once

#include "experiments/sweeps/points.hpp"
#include "models/world.hpp"

namespace gangway {

// The world used to check an experiment when it is read: every experiment can be simulated.
const WorldEntry& simulation();

// Whether only other worlds than the simulation may play it, which reading does not ask: programs without a
// recording; on several GPUs, slices of a policy that knows one, which the world `cuda` divides.
bool only_elsewhere(const Contender& contender, const Point& point);

// Throws InputError if the world refuses.
void check_playable(const WorldEntry& world, const Contender& contender, const Point& point);

}  // namespace gangway

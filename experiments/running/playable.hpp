// Whether a world can play the clients of a point under a policy, on its device.
#pragma once

#include "experiments/sweeps/points.hpp"
#include "models/world.hpp"

namespace gangway {

// Every experiment can be simulated: this world is asked when one is read.
const WorldEntry& simulation();

// Throws InputError where the world refuses.
void check_playable(const WorldEntry& world, const Contender& contender, const Point& point);

}  // namespace gangway

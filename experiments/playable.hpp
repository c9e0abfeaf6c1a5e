// Whether a policy can play the clients of a point on their device.
#pragma once

#include "experiments/points.hpp"

namespace gangway {

// `gpus` is where the number of GPUs is given. Throws InputError.
void check_playable(const Contender& contender, const Point& point, const Field& gpus);

}  // namespace gangway

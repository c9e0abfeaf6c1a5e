// Evictions that were measured under a mechanism which evicts in another way than an experiment's.
#pragma once

#include <string>
#include <vector>

#include "experiments/sweeps/experiment.hpp"

namespace gangway {

// Lines for people: under which mechanisms the simulator does not use measured evictions, but the mechanism's
// rules. Only of policies that evict kernels.
std::vector<std::string> notes_of_foreign_evictions(const Experiment& experiment);

}  // namespace gangway

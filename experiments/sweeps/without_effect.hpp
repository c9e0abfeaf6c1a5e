// What an experiment gives and nothing of it heeds.
#pragma once

#include <string>
#include <vector>

#include "experiments/sweeps/experiment.hpp"

namespace gangway {

// Throws InputError if a policy's parameter is given and has an effect at no checked point.
void refuse_without_effect(const Points& points);

// Lines for people about what else has no effect at any checked point.
std::vector<std::string> notes_without_effect(const Experiment& experiment);

}  // namespace gangway

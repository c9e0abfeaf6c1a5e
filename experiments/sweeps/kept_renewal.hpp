// Time slices that are renewed with another length.
#pragma once

#include <string>
#include <vector>

#include "experiments/sweeps/experiment.hpp"

namespace gangway {

// Lines for people, where recorded programs take turns (TS4): a device's file gives both lengths, so changing
// one leaves the other. Lengths within a tenth of each other are as measured.
std::vector<std::string> notes_of_kept_renewal(const Experiment& experiment);

}  // namespace gangway

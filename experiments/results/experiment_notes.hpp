// What people must know of an experiment's results whatever its runs showed.
#pragma once

#include <string>
#include <vector>

#include "experiments/results/recorded_machines.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "models/world.hpp"

namespace gangway {

// One line each: of its recordings, of what it gives without effect, of time slices that are too short for
// moves of memory, and, in simulation, of evictions that follow a mechanism's rules instead of measurements,
// and of slices that are renewed with another length. The same for every part of the experiment.
std::vector<std::string> notes_of(const Experiment& experiment, const WorldEntry& world,
                                  const RecordedMachines& recordings);

}  // namespace gangway

// A load factor on all arrivals.
#pragma once

#include <vector>

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

inline constexpr double kLeastLoad = 0.001, kMostLoad = 1000;

// Divides the gap between clients, periods, listed releases and arrival times by `load`, and multiplies
// arrival rates by it. Does not change when clients come and leave, or closed loops. Rounds to whole ns.
// Throws InputError, at `field`, if a period would fall below 1 ns or a time exceed 100 days, and if `load`
// is not 1 but nothing scales.
void scale_load(double load, const Field& field, Workload& workload);

// The same for clients drawn by a generator, including their drawn arrival times. Errors refer to the
// workload at `place`.
void scale_drawn(double load, const WorkloadPlace& place, std::vector<Client>& clients);

// Scales the gap only.
void scale_gap(double load, const Field& field, Workload& workload);

}  // namespace gangway

// One factor on everything that arrives by itself.
#pragma once

#include <vector>

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

inline constexpr double kLeastLoad = 0.001, kMostLoad = 1000;

// Divides by `load` the gap between clients and their periods, listed releases and arrival times, and
// multiplies the rates of their arrivals by it. Nothing else changes: not when clients come and leave, and
// not closed loops. Times are rounded to whole ns. Throws InputError, at `field`, where a period would be
// shorter than 1 ns or a time later than 100 days, and where there is nothing to scale and `load` is not 1.
void scale_load(double load, const Field& field, Workload& workload);

// The same of clients that a generator draws, which also come as it draws them: these times are divided, too.
// Errors are those of the workload at `place`.
void scale_drawn(double load, const WorkloadPlace& place, std::vector<Client>& clients);

// The gap alone, as scale_load() does it.
void scale_gap(double load, const Field& field, Workload& workload);

}  // namespace gangway

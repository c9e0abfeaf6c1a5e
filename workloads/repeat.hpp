// How often, and when, a client's program runs.
#pragma once

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

// Reads a `repeat`. With `own_pace`, one that only gives the number of jobs is allowed. Throws InputError.
Repeat read_repeat(const Field& field, bool own_pace = false);

}  // namespace gangway

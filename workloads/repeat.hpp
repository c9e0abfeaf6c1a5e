// How often, and when, a client's program runs.
#pragma once

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

// A `repeat` of a workload file; one that says only how many jobs there are is for programs with a pace of
// their own. Throws InputError.
Repeat read_repeat(const Field& field, bool own_pace = false);

}  // namespace gangway

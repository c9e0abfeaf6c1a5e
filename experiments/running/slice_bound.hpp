// Equation 1 of Share-a-GPU (II-F): a time slice hides moves of memory if it is longer than the bus takes to
// save one state and restore the other.
#pragma once

#include <optional>
#include <string>

#include "experiments/sweeps/experiment.hpp"

namespace gangway {

// The length of the policy's time slices, if it has such a parameter: `slice`, else `quantum`.
std::optional<Duration> time_slice_of(const PolicyEntry& policy, const ParameterValues& values);

// Time to move the two largest states of the point's clients (`memory`), both ways at once.
Duration least_time_slice(const Point& point, const Contender& contender);

// One line on slices that are not longer than that, where programs' memory moves; empty if there are none.
std::string slice_bound_note(const Experiment& experiment);

}  // namespace gangway

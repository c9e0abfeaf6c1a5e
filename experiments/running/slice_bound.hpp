// Equation 1 of Share-a-GPU (II-F): a time slice hides moves of memory if it is longer than the two states
// that go and come take together on the bus.
#pragma once

#include <optional>
#include <string>

#include "experiments/sweeps/experiment.hpp"

namespace gangway {

// The length of the policy's time slices, if it has such a parameter: `slice`, else `quantum`.
std::optional<Duration> time_slice_of(const Contender& contender);

// What the two largest `memory` of the point's clients take on the device's bus, both ways at once.
Duration least_time_slice(const Point& point, const Contender& contender);

// One line on the slices that are shorter, where programs' memory moves; empty if there is none.
std::string slice_bound_note(const Experiment& experiment);

}  // namespace gangway

// Time slices that are too short for moves of memory. Equation 1 of Share-a-GPU (II-F): a slice hides moves
// if it is longer than the bus takes to save one state and restore the other.
#pragma once

#include <string>

#include "models/quantity.hpp"

namespace gangway {

// Whether a slice is too short to hide moves that take `bound` (0: there are none).
constexpr bool too_short(Duration slice, Duration bound) { return bound > Duration{} && slice <= bound; }

// "the slice of 0.300 s WHERE is not longer than the 1.143 s that the two largest memories take to go and
// come", in ms if one of them is below 100 ms; `where` may be empty.
std::string short_slice_text(Duration slice, Duration bound, const std::string& where);

}  // namespace gangway

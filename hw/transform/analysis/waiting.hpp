// Loops that end only after another block has acted.
#pragma once

#include <vector>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// The loads and atomics on which such loops wait, in text order.
//
// A loop waits if one of its exits depends on what other blocks write: on an atomic operation in the loop, a
// load from global memory that is volatile, relaxed, acquire or uncached, or an ordinary one of an address
// that is read again: the same one, or one of several that come again while the loop does nothing but look.
// It does not wait if its own operations lead to the exit: tickets (atomic additions of a non-zero value that
// nothing in the loop takes back, and all of which comes to the exit), and compare-and-swap, retried with the
// value found until it is made, where no other branch goes round for what was found. An exit is also a call
// in which the thread may end.
std::vector<std::uint32_t> awaited_by_loops(const Flow& flow);

// Those on which a function waits that calls itself until it finds something. It does so, too, by any load
// that sees what other blocks write.
std::vector<std::uint32_t> awaited_by_recursion(const Flow& flow);

// Whether it is a load that sees what other blocks write meanwhile.
bool polls(const Instruction& instruction);

}  // namespace gangway::transform

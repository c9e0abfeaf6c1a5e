// Loops that end only when another block has done something.
#pragma once

#include <vector>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// The statements that read what is waited for, in their order.
//
// A loop waits if one of its exits depends on what other blocks write: on a load from global memory that is
// volatile, relaxed, acquire or uncached, or on an atomic operation, made in the loop. It does not if its own
// operations bring the exit about: tickets (atomic additions of something that is not 0), and
// compare-and-swap that tries again with what it found.
std::vector<std::uint32_t> awaited_by_loops(const Flow& flow);

}  // namespace gangway::transform

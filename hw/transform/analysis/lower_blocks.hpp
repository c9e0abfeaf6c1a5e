// Waits that only blocks of lower index can end, as in a scan with decoupled look-back: Merrill and Garland,
// "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA 2016.
#pragma once

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// Whether what a load (of a loop that waits) awaits is written, if by any block of this launch, then by
// blocks with a lower %ctaid.x than the one that waits; given a grid of one dimension.
//
// Proven as follows. Addresses are sums of multiples of the kernel's parameters, %ctaid.x, %tid.x and the
// like, as far as single assignments, and variables that only fall or only rise in a loop, allow. All stores
// that other blocks may look for, and all to the array that is awaited (what begins with the same pointer
// among the parameters), are made by block i at P + s i + c, of one s > 0 and one c; where the code runs for
// one block only (`if (i == 3)`), that equality counts. The load is from at most P + s i + c - 1. So whoever
// writes that address is a block j < i. Sums are taken not to overflow, and arrays behind different
// parameters not to overlap.
bool only_lower_blocks_end(const Flow& flow, std::uint32_t load);

}  // namespace gangway::transform

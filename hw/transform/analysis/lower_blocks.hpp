// Waits that only blocks of lower index can end, as in a scan with decoupled look-back: Merrill and Garland,
// "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA 2016.
#pragma once

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// Whether only blocks with a lower %ctaid.x than the waiting block write what `load`, in a waiting loop,
// waits for. Assumes a one-dimensional grid.
//
// Proof: addresses are affine expressions of the kernel's parameters, %ctaid.x, %tid.x and the like, as far
// as single assignments and monotonic loop variables allow. Every store to the awaited array (same pointer
// parameter), and every store of which the array is unknown, is made by block i at P + s i + c, for one s > 0
// and one c. Code that runs for one block only (`if (i == 3)`) uses that equality. The load reads P + s i + c
// - 1 or below. Hence the writer of the loaded address is a block j < i. Assumed: sums do not overflow;
// arrays of different parameters do not overlap, nor does what ordinary stores reach by a pointer from global
// memory.
bool only_lower_blocks_end(const Flow& flow, std::uint32_t load);

}  // namespace gangway::transform

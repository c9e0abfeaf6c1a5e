// Number of busy threads while a kernel waits for room: the capacity on which every bound rests.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/taskset.hpp"

namespace gangway {

// Alternatives of one stream: at most one of its kernels runs at a time.
using StreamGrids = std::vector<Grid>;

// M_h for each kernel h of each stream: the least number of busy threads of the device, in [1, m], at which a
// block of h can find no room while one is still to be assigned (models/bounds/README.md, lemma 0). None if
// that is impossible. On multiprocessors, their number times the least of one. Grids' blocks must fit the
// layout. Time O(kernels log streams m), in 64-bit words.
std::vector<std::vector<std::optional<std::int64_t>>> threads_busy_while_blocked(
    const ThreadLayout& layout, const std::vector<StreamGrids>& streams);

}  // namespace gangway

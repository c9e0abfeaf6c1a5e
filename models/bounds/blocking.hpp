// How many threads are busy while a kernel waits for room: the capacity that every bound rests on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/taskset.hpp"

namespace gangway {

// Alternatives of one stream: at most one of its kernels runs at a time.
using StreamGrids = std::vector<Grid>;

// For each stream, for each of its kernels h: M_h, the least number of busy threads of the whole device, in
// [1, m], at which a block of h can find no room although a block of h is still to be assigned
// (models/bounds/README.md, lemma 0); none when that cannot be. On multiprocessors it is their number times
// the least of one of them. Grids' blocks fit the layout. Time O(kernels log streams m) in words of 64 bits.
std::vector<std::vector<std::optional<std::int64_t>>> threads_busy_while_blocked(
    const ThreadLayout& layout, const std::vector<StreamGrids>& streams);

}  // namespace gangway

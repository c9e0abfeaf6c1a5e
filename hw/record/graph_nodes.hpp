// Timings of graph nodes from a second run.
#pragma once

#include <cstddef>
#include <vector>

#include "hw/record/spool_reader.hpp"
#include "models/recording/recording.hpp"

namespace gangway::spool {

// Adds the nodes of the recording's graphs from a second pass that timed them individually. Matches the k-th
// graph of the n-th process. Returns the number of unmatched graphs.
std::size_t add_nodes(recording::Recording& recording, const std::vector<Contents>& second_pass);

}  // namespace gangway::spool

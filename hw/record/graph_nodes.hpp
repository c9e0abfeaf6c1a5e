// What a second run of a program tells of the nodes of its graphs.
#pragma once

#include <cstddef>
#include <vector>

#include "hw/record/spool_reader.hpp"
#include "models/recording/recording.hpp"

namespace gangway::spool {

// Adds the nodes of the recording's graphs from a second pass over the same program, in which they were timed
// one by one: its n-th process's k-th graph is taken for the same as here. Returns how many graphs found
// none.
std::size_t add_nodes(recording::Recording& recording, const std::vector<Contents>& second_pass);

}  // namespace gangway::spool

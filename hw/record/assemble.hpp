// From the spools of a program's processes to its recording.
#pragma once

#include <vector>

#include "hw/record/spool_reader.hpp"
#include "models/recording/recording.hpp"

namespace gangway::spool {

// Jobs are not cut yet, and of `about` only the origin, what is lost, CUPTI's version and the trouble that
// spools tell of are filled in.
recording::Recording assemble(const std::vector<Contents>& processes);

}  // namespace gangway::spool

// Combines the spools of a program's processes into a recording.
#pragma once

#include <vector>

#include "hw/record/spool_reader.hpp"
#include "models/recording/recording.hpp"

namespace gangway::spool {

// Jobs are not cut yet. Of `about`, fills in only the origin, lost records, CUPTI's version and troubles
// found in spools.
recording::Recording assemble(const std::vector<Contents>& processes);

}  // namespace gangway::spool

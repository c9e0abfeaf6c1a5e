// Other work on a client's GPU at the same time.
#pragma once

#include <vector>

#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

// Time of the client's works: of all, and of those with other work beside them.
struct WorkTime {
  Duration all, beside;
};

// Marks works during which the GPU did other work of the profile, so they may have taken longer. `streams`:
// from add_works(), kNone for streams of others.
WorkTime mark_beside(ProfiledRows& rows, const std::vector<Index>& streams);

}  // namespace gangway::profile

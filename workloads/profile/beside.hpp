// What others did on a client's GPU at the same time.
#pragma once

#include <vector>

#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

// Time of the client's works: of all, and of those that had others beside them.
struct WorkTime {
  Duration all, beside;
};

// Marks works in the recording during which the same GPU did something else of the profile: they may have
// taken longer for it. `streams`: as add_works() returns them, kNone for whatever is not the client's.
WorkTime mark_beside(ProfiledRows& rows, const std::vector<Index>& streams);

}  // namespace gangway::profile

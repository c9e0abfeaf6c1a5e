// What a client's calls wait for, and make streams wait for.
#pragma once

#include <cstdint>

#include "workloads/profile/profiled_calls.hpp"
#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

// Facts that the profile leaves open.
struct OpenWaits {
  std::int64_t assumed = 0;             // calls whose likely wait was assumed
  std::int64_t unknown = 0;             // calls waiting for something that the profile does not name
  std::int64_t unknown_of_streams = 0;  // omitted waits of streams
};

// Adds orders to the recording, whose works must exist: those in the profile, and those implied by its
// submissions.
OpenWaits add_orders(ProfiledRows& rows, const ProfiledCalls& calls);

}  // namespace gangway::profile

// For what the calls of a client wait, and what they make streams wait for.
#pragma once

#include <cstdint>

#include "workloads/profile/profiled_calls.hpp"
#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

// What the profile leaves open.
struct OpenWaits {
  std::int64_t assumed = 0;             // calls that are taken to wait for what was likely
  std::int64_t unknown = 0;             // that wait for something that the profile does not name
  std::int64_t unknown_of_streams = 0;  // waits of streams that are left out
};

// Puts the orders into the recording, by their call, where its works are there already: those that the
// profile tells, and those that follow from who submitted what where.
OpenWaits add_orders(ProfiledRows& rows, const ProfiledCalls& calls);

}  // namespace gangway::profile

// The works of a client, among them graphs and their nodes.
#pragma once

#include <vector>

#include "workloads/profile/profiled_calls.hpp"
#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

// Puts the process's works into the recording, by the calls that submitted them; those whose call is not
// known count as lost. A graph is one launch, whether its nodes were timed or the whole. Returns the stream
// of each work of the profile; kNone: it is not this client's.
std::vector<Index> add_works(ProfiledRows& rows, const ProfiledCalls& calls);

}  // namespace gangway::profile

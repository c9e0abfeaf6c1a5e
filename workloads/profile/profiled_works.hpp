// The works of a client, among them graphs and their nodes.
#pragma once

#include <vector>

#include "workloads/profile/profiled_calls.hpp"
#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

// Puts the process's works into the recording, by the calls that submitted them; those whose call is not
// known count as lost. Graphs are launched as one, whether their nodes were timed or they as wholes. Returns,
// by the profile's work, its stream; kNone: it is not of this client.
std::vector<Index> add_works(ProfiledRows& rows, const ProfiledCalls& calls);

}  // namespace gangway::profile

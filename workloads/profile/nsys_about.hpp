// What an export of Nsight Systems says of the machine and of itself.
#pragma once

#include "workloads/profile/nsys_owners.hpp"

namespace gangway::profile {

// Describes the profile's GPUs, which `owners` have numbered, the host and the source.
void describe_nsys(ProfileTables& tables, const NsysOwners& owners, Profile& profile);

}  // namespace gangway::profile

// Facts about the machine in an export of Nsight Systems.
#pragma once

#include "workloads/profile/nsys_owners.hpp"

namespace gangway::profile {

// Describes the GPUs numbered by `owners`, the host and the source.
void describe_nsys(ProfileTables& tables, const NsysOwners& owners, Profile& profile);

}  // namespace gangway::profile

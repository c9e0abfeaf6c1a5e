// Clients' device memory in workload files, and whether it fits.
#pragma once

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

// Reads `memory`, `variables`, `copy_in` and `copy_out` of a client. Throws InputError.
void read_memory(Mapping& m, Client& client);
// Checks that variables' maps have a part for each block of the client's kernels. Throws InputError.
void check_maps(const Field& field, const Client& client);

}  // namespace gangway

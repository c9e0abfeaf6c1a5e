// What clients keep in device memory, as workload files say it, and whether it fits.
#pragma once

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

// Reads `memory`, `variables`, `copy_in` and `copy_out` of a client. Throws InputError.
void read_memory(Mapping& m, Client& client);
// Whether the maps of its variables have a part for each block of its kernels. Throws InputError.
void check_maps(const Field& field, const Client& client);

}  // namespace gangway

// Clients made of recordings.
#pragma once

#include "models/input/field.hpp"
#include "models/recorded.hpp"
#include "models/workload.hpp"

namespace gangway {

// The `recording` of a client: FILE, seen from the folder of the file in which that stands, or {file: FILE,
// jobs: {from, to}, order: recorded | drawn, scale: {kernels, host}, busy: unknown, forms}
// (experiments/README.md). `paced`: the client's releases are not the program's own. Throws InputError, also
// for what is wrong in the recording.
std::shared_ptr<const Recorded> read_recorded(const Field& field, bool paced);

}  // namespace gangway

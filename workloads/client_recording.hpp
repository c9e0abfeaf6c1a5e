// Clients made of recordings.
#pragma once

#include "models/input/field.hpp"
#include "models/recorded.hpp"
#include "models/workload.hpp"

namespace gangway {

// A client's `recording`: FILE, relative to the file that contains it, or {file: FILE, jobs: {from, to},
// order: recorded | drawn, alone, scale: {kernels, host}, busy: unknown, forms} (experiments/README.md).
// `paced`: the client has releases other than the program's own pace. `repeats`: the file says how many jobs
// it plays; else it plays each once. Throws InputError, also for errors in the recording.
std::shared_ptr<const Recorded> read_recorded(const Field& field, bool paced, bool repeats);

}  // namespace gangway

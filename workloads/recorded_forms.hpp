// In which forms the kernels of a recorded program run, so that they can leave the GPU before their end.
#pragma once

#include "models/input/field.hpp"
#include "models/recorded.hpp"

namespace gangway {

// The `forms` of a client's recording (experiments/README.md): FILE, or {inspected: FILE, default: FORM,
// kernels: {PATTERN: FORM}, worth, block_time}. FORM is `gate`, `prologue` or `loop`, or {name, params}.
// Fills recorded.leaving; the recording's file and program must be there. Throws InputError.
void read_forms(const Field& field, Recorded& recorded);

}  // namespace gangway

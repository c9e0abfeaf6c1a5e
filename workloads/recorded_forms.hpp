// The forms of a recorded program's kernels, which make them preemptible.
#pragma once

#include "models/input/field.hpp"
#include "models/recorded.hpp"

namespace gangway {

// A recording's `forms` (experiments/README.md): FILE, or {inspected: FILE, default: FORM, kernels: {PATTERN:
// FORM}, worth, block_time}. FORM is `gate`, `prologue`, `loop` or `slice`, or {name, params}. Fills
// recorded.leaving; the recording's file and program must exist. Throws InputError.
void read_forms(const Field& field, Recorded& recorded);

}  // namespace gangway

// The share of a recording's GPU time that each kernel took.
#pragma once

#include <string>

#include "hw/transform/inspect/inspection.hpp"

namespace gangway::transform {

// Adds launches, time and share of the recording to each kernel, and a row for each kernel found in the
// recording only. Recordings contain mangled names; imported profiles may contain demangled ones, with or
// without parameters, which match too. Warm-up is excluded. InputError as read_recording().
void add_recorded_shares(const std::string& recording, Inspection& inspection);

}  // namespace gangway::transform

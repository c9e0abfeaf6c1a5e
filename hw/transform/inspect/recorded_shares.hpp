// Which share of a recording's time on the GPU each kernel took.
#pragma once

#include <string>

#include "hw/transform/inspect/inspection.hpp"

namespace gangway::transform {

// Reads the recording, and adds to each kernel its launches, time and share, and a row for each kernel of the
// recording that is in none. Recordings have mangled names, those made of profiles perhaps others: the name
// as people write it, with or without parameters, will do. Warm-up is left out. InputError as
// read_recording().
void add_recorded_shares(const std::string& recording, Inspection& inspection);

}  // namespace gangway::transform

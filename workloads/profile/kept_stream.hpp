// One stream of a process as a program of its own.
#pragma once

#include "models/recording/recording.hpp"

namespace gangway::profile {

// Keeps of a recording what concerns one of its streams: its works, what waits for it or for its context, and
// who waits in it. kNone: the stream is not there, and nothing is left. Ranges and memory stay as they are.
void keep_stream(recording::Recording& r, recording::Index stream);

}  // namespace gangway::profile

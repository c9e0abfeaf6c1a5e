// Treats one stream of a process as a program of its own.
#pragma once

#include "models/recording/recording.hpp"

namespace gangway::profile {

// Reduces a recording to one stream: its works, what waits for it or its context, and what waits in it.
// kNone: the stream does not exist, and nothing remains. Ranges and memory stay.
void keep_stream(recording::Recording& r, recording::Index stream);

}  // namespace gangway::profile

// A run as Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <string>

#include "experiments/unit.hpp"

namespace gangway {

// Plays one run and returns its timeline: a track per client (copy in, waiting, running, draining, copy out),
// GPU ownership, the scheduler's commands and the copy engines. Spans on one track never overlap. Times in
// microseconds.
std::string chrome_trace(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                         std::uint32_t permutation);

// point-0-frs-r0-p0.json
std::string trace_name(const Experiment& experiment, const Unit& unit, std::uint32_t permutation);

}  // namespace gangway

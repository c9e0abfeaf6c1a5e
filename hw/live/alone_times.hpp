// How long a client's jobs take without competition.
#pragma once

#include <span>

#include "hw/live/client.hpp"
#include "models/workload.hpp"

namespace gangway::live {

// From the finished jobs of an undisturbed client, in order, at least one. A job takes from the moment it can
// begin (its arrival, or the previous job's end) to its end. The result is the median of the means of five
// equal stretches, so that one pause of the program does not count; with fewer jobs there is one stretch.
// `own_pace`: the program decides when jobs begin; then the mean interval between job ends is reported, too.
AloneTimes alone_times(std::span<const LiveClient::JobTimes> jobs, bool own_pace);

}  // namespace gangway::live

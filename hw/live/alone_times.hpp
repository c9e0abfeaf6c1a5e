// What a client's jobs take without others, from the times of those that it did alone.
#pragma once

#include <span>

#include "hw/live/client.hpp"
#include "models/workload.hpp"

namespace gangway::live {

// Of jobs in their order, at least one, all of them over. A job takes from when it could begin: its arrival,
// or the end of the one before. Of five stretches with equally many jobs each the means are taken, and the
// median of these: who stops the program once does not make its jobs longer. Fewer jobs are one stretch.
// `own_pace`: the program decides when jobs begin; then the mean from one end to the next is told, too.
AloneTimes alone_times(std::span<const LiveClient::JobTimes> jobs, bool own_pace);

}  // namespace gangway::live

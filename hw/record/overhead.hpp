// What recording costs a program's jobs.
#pragma once

#include <optional>

#include "models/recording/recording.hpp"

namespace gangway::spool {

struct JobTimes {
  Duration recorded, calls_only;  // medians over the jobs that both have, without warm-up
};

// The jobs of a recording against the same program's when only its calls were noted: no GPU was asked for
// times. Both runs' threads are matched by the order in which they come to submit, their calls by their
// order. None where the two runs did not call the same, or where jobs end with queries, as they have those by
// chance.
std::optional<JobTimes> compare_jobs(const recording::Recording& recorded,
                                     const recording::Recording& calls_only);

}  // namespace gangway::spool

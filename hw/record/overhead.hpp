// Effect of recording on a program's jobs.
#pragma once

#include <optional>

#include "models/recording/recording.hpp"

namespace gangway::spool {

struct JobTimes {
  Duration recorded, calls_only;  // medians over the common jobs, without warm-up
};

// Compares the jobs of a recording with a run that logged only calls, without GPU times. Matches threads by
// the order of their first submissions, and calls by their order. None if the two runs made different calls,
// or if jobs end with queries, which depend on timing.
std::optional<JobTimes> compare_jobs(const recording::Recording& recorded,
                                     const recording::Recording& calls_only);

}  // namespace gangway::spool

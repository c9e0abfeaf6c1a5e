// Releases of a run that is checked against a bound.
#pragma once

#include <string>
#include <vector>

#include "models/quantity.hpp"
#include "models/random.hpp"

namespace gangway {

// Releases of one task.
struct TaskReleases {
  std::vector<Duration> nominal;  // at least a period apart
  std::vector<Duration> actual;   // later by at most the task's jitter, in order
};

struct ReleasedRun {
  std::string pattern;
  std::vector<TaskReleases> tasks;
};

struct ReleasedTask {
  Duration period, jitter;
  Duration lead;  // how much earlier than others it may arrive to delay them
};

// For how long one pattern releases jobs: its part of a total `length`, but at least so many of the longest
// period.
Duration pattern_length(const std::vector<ReleasedTask>& tasks, Duration length, std::int64_t periods);

// Runs of this length each, one per pattern; every task has a job in each. Deterministic in the random
// numbers.
std::vector<ReleasedRun> released_runs(const std::vector<ReleasedTask>& tasks, Duration each,
                                       std::uint64_t seed);

// Adds jitter to nominal releases: often the longest and none, so that two jobs come close together.
TaskReleases with_jitter(std::vector<Duration> nominal, Duration jitter, Stream& random);

}  // namespace gangway

// Releases of one run that is to be held against a bound.
#pragma once

#include <string>
#include <vector>

#include "models/quantity.hpp"
#include "models/random.hpp"

namespace gangway {

// Of one task.
struct TaskReleases {
  std::vector<Duration> nominal;  // at least a period apart
  std::vector<Duration> actual;   // later by the task's jitter at most, in order
};

struct ReleasedRun {
  std::string pattern;
  std::vector<TaskReleases> tasks;
};

struct ReleasedTask {
  Duration period, jitter;
  Duration lead;  // so much earlier than others it may have come to hold them up
};

// Runs of `length` in all, of each pattern one; every task has a job in each. The same random numbers give
// the same releases.
std::vector<ReleasedRun> released_runs(const std::vector<ReleasedTask>& tasks, Duration length,
                                       std::uint64_t seed);

// With jitter on top of nominal releases: the longest and none often enough for two jobs to come together.
TaskReleases with_jitter(std::vector<Duration> nominal, Duration jitter, Stream& random);

}  // namespace gangway

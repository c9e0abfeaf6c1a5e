// Single runs that decide how far off a prediction is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/comparing/compare.hpp"

namespace gangway::compared {

using Run = std::pair<std::uint32_t, std::uint32_t>;  // replication, permutation

// NTT of a client's jobs, summed, in both folders.
struct NttSums {
  double predicted = 0, measured = 0;
  std::int64_t jobs = 0;
};

// Of each run, by client. Clients without jobs are not in averages.
using RunSums = std::map<Run, std::vector<NttSums>>;

// By metric, of ANTT, DNTT and STP, the run without which the group's error would change by most, where that
// is at least half of it, and the error at least 1 %. None where `runs`, which must have all jobs of the
// group, have not the group's values (those of programs with unfinished jobs are bounds), or are fewer than
// ten.
std::vector<DecisiveRun> decisive_runs(const GroupComparison& group, const RunSums& runs, bool sample_sigma);

}  // namespace gangway::compared

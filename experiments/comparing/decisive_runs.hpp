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

// For each of ANTT, DNTT and STP, the run without which the group's error would change the most, if that is
// at least half of the error, and the error at least 1 %. `runs` must have all jobs of the group. Returns
// none if these are fewer than ten runs, if the group's values are others (bounds, as jobs are unfinished),
// or if an error is infinite.
std::vector<DecisiveRun> decisive_runs(const GroupComparison& group, const RunSums& runs, bool sample_sigma);

}  // namespace gangway::compared

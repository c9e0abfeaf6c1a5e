// Releases that are bad for tasks whose kernels own the GPU, found by simulation.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "models/quantity.hpp"
#include "models/taskset.hpp"

namespace gangway {

struct FoundReleases {
  std::string pattern;                         // which task they are bad for, and how they were found
  std::vector<std::vector<Duration>> nominal;  // ns by task, at least a period apart, up to the horizon
};

// For each task of a set without costs, with periods and times in ns: a closed loop, in which others come
// again whenever one of its jobs is over, and the worst of `steps` simulations that climb from there (0:
// none). Deterministic in the seed; less if `stop` is set. Empty for round robin over times too long to
// simulate exactly.
std::vector<FoundReleases> bad_releases_of_owners(const OwningTasks& set, Duration horizon,
                                                  std::uint64_t steps, std::uint64_t seed,
                                                  const std::atomic<bool>& stop);

}  // namespace gangway

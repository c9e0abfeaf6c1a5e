// Task sets as the search for worst cases has them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/simulated_taskset.hpp"

namespace gangway {

inline constexpr std::int64_t kMostJobsSearched = 600;  // of one simulation
inline constexpr std::int64_t kLatestRelease = 64;      // in longest periods

// What of a task set the search works on. A one-shot stream is a client with one job.
struct SearchedClients {
  struct One {
    Client client;            // without releases
    std::int64_t period = 0;  // in ticks; 0: one job, whose release is given
    std::int64_t at = 0;      // that release
  };
  std::vector<One> all;
  std::vector<std::pair<std::size_t, std::uint32_t>> targets;  // client and kernel, in the file's order
  bool ordered = false;                                        // ties are decided in the file's order
  std::int64_t longest_period = 0;
  Device device;
  Rational scale;
  bool exact = true;
};

// Throws InputError, with `option` as origin, for kernels with too many waves of blocks, and for times that
// cannot be played.
SearchedClients searched_clients(const SporadicTasks& set, const std::string& unit, const Origin& option);
SearchedClients searched_clients(const OneShotKernels& set, const std::string& unit, const Origin& option);

}  // namespace gangway

// Search for the way of releasing jobs that makes a task's largest response: hill climbing over release
// times, block times, the order at ties and, on multiprocessors, the placement of blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/simulated_taskset.hpp"

namespace gangway {

// The worst that was found for one task, or for one kernel of a one-shot set.
struct WorstCase {
  Rational response;  // in the set's unit; of one-shot kernels, completion
  Duration simulated;
  std::uint32_t job = 0;
  // What gives it, played by UnmanagedRuns or by `gangway run`: releases at least a period apart, blocks no
  // longer than they may be. Jobs released after the worst one is complete are left out.
  Workload workload;
  Device device;
};

struct SearchLimits {
  std::optional<double> seconds;  // of wall time; no more climbs are begun after them
  std::uint64_t steps = 0;        // else: simulations for each task
};

struct SearchedResponses {
  std::vector<std::optional<WorstCase>> tasks;  // in the file's order; none: nothing was simulated
  std::uint64_t steps = 0;                      // simulations for each task
  std::uint64_t jobs = 0;
  Rational scale;     // simulated nanoseconds in one of the set's units of time
  bool exact = true;  // as in SimulatedResponses
  bool interrupted = false;
};

// A pure function of set, seed and the number of steps, which does not exceed the steps that a limit in
// seconds allowed: the same number of steps finds the same. When `stop` gets set, what was found so far is
// returned. Throws InputError for sets whose kernels own the GPU.
SearchedResponses search_worst_case(const TaskSet& set, const SearchLimits& limits, std::uint64_t seed,
                                    const std::atomic<bool>& stop);

// Writes FOLDER/TASK.yaml for each task: an experiment that `gangway run` plays, with the same response to
// the nanosecond. The folder is made; one that holds anything is refused with InputError.
void save_worst_cases(const TaskSet& set, const SearchedResponses& searched,
                      const std::filesystem::path& folder);

}  // namespace gangway

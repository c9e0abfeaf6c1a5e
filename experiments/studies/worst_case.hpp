// Searches for the releases that maximise a task's response: hill climbing over release times, block times,
// order at ties and, on multiprocessors, block placement.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/simulated_taskset.hpp"

namespace gangway {

// The worst case found for a task, or a kernel of a one-shot set.
struct WorstCase {
  Rational response;  // in the set's unit; one-shot kernels: completion
  Duration simulated;
  std::uint32_t job = 0;
  // The workload that causes it, playable by UnmanagedRuns or `gangway run`: releases at least a period
  // apart, blocks within their limits. Jobs released after the worst one completes are omitted.
  Workload workload;
  Device device;
};

struct SearchLimits {
  std::optional<double> seconds;  // of wall time, after which no new climb begins
  std::uint64_t steps = 0;        // else: simulations per task
};

struct SearchedResponses {
  std::vector<std::optional<WorstCase>> tasks;  // in file order; none: not simulated
  std::uint64_t steps = 0;                      // simulations per task
  std::uint64_t jobs = 0;
  Rational scale;     // simulated ns per unit of the set
  bool exact = true;  // as in SimulatedResponses
  bool interrupted = false;
};

// A pure function of set, seed and number of steps; a limit in seconds ends at some number of steps with the
// same result. If `stop` is set, returns the best so far. Throws InputError for sets whose kernels own the
// GPU, and for too many waves of blocks.
SearchedResponses search_worst_case(const TaskSet& set, const SearchLimits& limits, std::uint64_t seed,
                                    const std::atomic<bool>& stop);

// Writes FOLDER/TASK.yaml for each task: an experiment that `gangway run` plays with the same response to the
// nanosecond. Creates the folder; InputError if it is not empty.
void save_worst_cases(const TaskSet& set, const SearchedResponses& searched,
                      const std::filesystem::path& folder);

}  // namespace gangway

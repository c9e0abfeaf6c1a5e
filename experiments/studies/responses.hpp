// Task sets on the simulated GPU: the largest responses over many release patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/taskset.hpp"

namespace gangway {

struct LargestResponse {
  Rational value;       // in the set's unit; one-shot kernels: completion
  std::string pattern;  // release pattern that first caused it
  std::uint32_t job = 0;
};

struct SimulatedResponses {
  std::vector<std::optional<LargestResponse>> tasks;  // in file order; none: nothing finished
  std::uint64_t jobs = 0;
  // Whether all times were simulated exactly. Otherwise block times are rounded down and periods up to ticks,
  // so that bounds still apply.
  bool exact = true;
  Rational scale = 1;  // ticks per unit of the set
};

// The horizon from the command line, above 0: in the set's unit, or with any unit of time if the set has one.
// Throws InputError.
Rational simulation_horizon(const TaskSet& set, std::string_view text);

// Plays jobs released from 0 to the horizon, to their ends: synchronously, with random offsets, sporadically,
// in bursts and nearly periodically; with full and shorter blocks; in several orders at ties (on
// multiprocessors also with both placements). One-shot kernels: in the listed order, or in many. Kernels that
// own the GPU: under piv or rr, with release jitter. Deterministic in the seed. Throws InputError for more
// than 20 million jobs, or waves of blocks on an empty device, and for blocks too short to round.
SimulatedResponses simulate_responses(const TaskSet& set, const Rational& horizon, std::uint64_t seed);

// A task's result in one long run.
struct LongRun {
  struct Task {
    Rational largest;      // response, in the set's unit
    bool met = true;       // no response exceeds the period
    bool growing = false;  // over four quarters of the release time, the largest response ending in each
                           // exceeds the previous quarter's, and the last is at least twice the first
  };
  std::vector<Task> tasks;  // in file order
  std::uint64_t jobs = 0, events = 0;
};

// Plays the tasks periodically from random offsets with full times, long enough to release `jobs` per task on
// average. Deterministic in the seed. Throws InputError for more than 20 million jobs or waves of blocks in
// total, for blocks too short to round, and for tasks without periods.
LongRun simulate_periodically(const TaskSet& set, std::uint64_t jobs, std::uint64_t seed);

}  // namespace gangway

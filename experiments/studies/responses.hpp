// Task sets on the simulated GPU: the largest responses seen over many ways in which their jobs may be
// released.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/taskset.hpp"

namespace gangway {

struct LargestResponse {
  Rational value;       // in the set's unit; of one-shot kernels, completion
  std::string pattern;  // of releases, the first that gave it
  std::uint32_t job = 0;
};

struct SimulatedResponses {
  std::vector<std::optional<LargestResponse>> tasks;  // in the file's order; none: nothing finished
  std::uint64_t jobs = 0;
  // Whether all times of the set were simulated as they are. If not, block times are rounded down and
  // periods up to a millionth of the unit, so that a bound must hold for what is seen all the same.
  bool exact = true;
};

// The horizon as a command line gives it, in the set's unit or with one. Throws InputError.
Rational simulation_horizon(const TaskSet& set, std::string_view text);

// Plays jobs released from 0 up to the horizon, to their ends: synchronously, at random offsets,
// sporadically, in bursts and nearly periodically, with blocks as long as they may be and shorter, in several
// orders at ties (and, where blocks are placed on multiprocessors, with both placements). One-shot kernels:
// in the listed order, or in many. Kernels that own the GPU: under piv or rr, likewise, with release jitter.
// The same seed gives the same result. Throws InputError for more than 20 million jobs.
SimulatedResponses simulate_responses(const TaskSet& set, const Rational& horizon, std::uint64_t seed);

// How a task fared in one long run.
struct LongRun {
  struct Task {
    Rational largest;      // response, in the set's unit
    bool met = true;       // no response above the period
    bool growing = false;  // of the four quarters of the time in which jobs are released, the largest
                           // response that ends in each is above that of the one before, and in the last at
                           // least twice that in the first
  };
  std::vector<Task> tasks;  // in the file's order
  std::uint64_t jobs = 0, events = 0;
};

// Plays the tasks periodically from random offsets, with full times, for as long as it takes to release
// `jobs` for each task on average. The same seed gives the same result. Throws InputError for more than 20
// million jobs in all and for tasks without periods.
LongRun simulate_periodically(const TaskSet& set, std::uint64_t jobs, std::uint64_t seed);

}  // namespace gangway

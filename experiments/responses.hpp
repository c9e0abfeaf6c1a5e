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
// in the listed order, or in many. The same seed gives the same result. Throws InputError for sets whose
// kernels own the GPU, and for more than 20 million jobs.
SimulatedResponses simulate_responses(const TaskSet& set, const Rational& horizon, std::uint64_t seed);

}  // namespace gangway

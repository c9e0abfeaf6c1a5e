// Plays task sets on a device, or in simulation with the set's costs. Jobs are released as the analysis
// allows; responses are checked against the bounds with costs, and runs against the assumptions of these
// bounds (models/bounds/measured_costs.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/bounds/assumption.hpp"
#include "models/bounds/report.hpp"
#include "models/quantity.hpp"
#include "models/taskset.hpp"
#include "models/world.hpp"

namespace gangway {

struct ObserveOptions {
  const WorldEntry* world = nullptr;
  std::string mechanism;      // of evictions; empty: the default
  Duration length{};          // duration of releases, over all patterns, but
  std::int64_t periods = 3;   // each pattern lasts at least this many of the longest period
  std::uint64_t search = 50;  // simulations per task that search for bad releases
  std::uint64_t seed = 1;
};

struct ObservedTask {
  Duration response;
  std::string pattern;  // the first release pattern that caused it
  std::uint32_t job = 0;
};

struct ObservedResponses {
  std::vector<std::optional<ObservedTask>> tasks;  // in file order; none: nothing finished
  Assumptions assumptions;
  std::uint64_t jobs = 0;
  bool interrupted = false;
};

// One run per release pattern: together, nearly together in changing order, with offsets, sporadic, in
// bursts, nearly periodic, for owners in closed loops, and patterns that a search found to be bad. On `sim`,
// each cost takes any time up to its limit. Throws InputError for what the world or its device cannot play:
// times without a unit, a set that does not fit, another form of set.
ObservedResponses observe_responses(const TaskSet& set, const ObserveOptions& options,
                                    const std::atomic<bool>& stop);

// Converts a time of the set to ns.
Rational nanoseconds(const TaskSet& set, const Rational& time);

struct Judgement {
  std::vector<std::optional<double>> ratios;  // observed over tightest bound, by task
  std::string violated;                       // a response above a bound, one line; empty if none
  std::string unmet;                          // the worst violated assumption, one line; empty if none
};
Judgement judge(const TaskSet& set, const BoundReport& bounds, const ObservedResponses& seen);

}  // namespace gangway

// Task sets played for real, or as a device would play them that is as slow as the set's costs say: jobs are
// released as the analysis allows, and what is seen is held against the bounds with costs and against what
// these assume (models/bounds/measured_costs.hpp).
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
  std::string mechanism;      // of evictions; empty: the usual one
  Duration length{};          // jobs are released for so long, over all patterns of releases
  std::uint64_t search = 50;  // simulations for each task that look for bad releases, where blocks share
  std::uint64_t seed = 1;
};

struct ObservedTask {
  Duration response;
  std::string pattern;  // of releases, the first that gave it
  std::uint32_t job = 0;
};

struct ObservedResponses {
  std::vector<std::optional<ObservedTask>> tasks;  // in the file's order; none: nothing finished
  Assumptions assumptions;
  std::uint64_t jobs = 0;
  bool interrupted = false;
};

// One run for each pattern of releases: together, nearly together in another order each, at offsets,
// sporadically, in bursts, nearly periodically, and as a search found bad in simulation. On `sim` every cost
// takes any time up to what the set allows it. Throws InputError for what the world or its device cannot
// play: times without a unit, a set that does not fit, another form of set.
ObservedResponses observe_responses(const TaskSet& set, const ObserveOptions& options,
                                    const std::atomic<bool>& stop);

// What was seen against a bound: in ns.
Rational nanoseconds(const TaskSet& set, const Rational& time);

struct Judgement {
  std::vector<std::optional<double>> ratios;  // observed over the tightest bound, by task
  std::string violated;                       // a response above a bound: one line; empty if there is none
  std::string unmet;                          // an assumption that did not hold, the worst; likewise
};
Judgement judge(const TaskSet& set, const BoundReport& bounds, const ObservedResponses& seen);

}  // namespace gangway

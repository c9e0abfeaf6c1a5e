// Every bound applied to a task set.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/bounds/bound.hpp"

namespace gangway {

// All times in the set's unit.
struct AppliedBound {
  const Bound* bound = nullptr;
  BoundResult result;
};

struct BoundedTask {
  std::string name;
  std::optional<Rational> utilisation;             // C / T in threads, or c / T; none without a period
  std::optional<std::int64_t> busy_while_blocked;  // M_h of a sporadic task
  std::optional<std::size_t> tightest;             // index of the least bound
};

struct BoundReport {
  std::vector<BoundedTask> tasks;          // or kernels of a one-shot set, stream by stream
  std::vector<AppliedBound> bounds;        // those for this form of task set, by name
  std::optional<Rational> utilisation;     // U, the sum; none if a task has no period
  std::optional<std::int64_t> least_busy;  // M*; none: nothing ever blocks, or blocks are not shared
  std::optional<std::int64_t> threads;     // m; none if one kernel owns the GPU

  // The common reason if a bound applies to no task.
  static const Unmet* refused(const AppliedBound& applied);
  // The tightest bound of a task; none when no bound applies.
  const Rational* tightest(std::size_t task) const;
  // The substitute for the theorem's result if a bound is looser than necessary (bound.hpp); else none.
  static const std::string* looser(const AppliedBound& applied, std::size_t task);
  // Whether a step limit made a bound of the task looser or missing.
  static bool stopped(const AppliedBound& applied, std::size_t task);
  // The names of those bounds.
  std::vector<std::string> stopped(std::size_t task) const;
};

// A bound whose proof does not cover the set's queue order, layout, channels or priorities only says so.
BoundReport bound_responses(const TaskSet& set);

// Throws RunError if an observed response of the task, in the set's unit, exceeds any of its bounds: then a
// proof or the program is wrong.
void check_observation(const BoundReport& report, std::size_t task, const Rational& seen);

nlohmann::ordered_json to_json(const TaskSet& set, const BoundReport& report);

}  // namespace gangway

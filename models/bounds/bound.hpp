// Response-time bounds. Each theorem is one self-registering file; models/bounds/README.md has the proofs
// under the same names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/registry.hpp"
#include "models/taskset.hpp"

namespace gangway {

class SporadicAnalysis;
class OneShotAnalysis;

// A value under its name in the theorem: H_i, M*, lambda. `of`: its task, if any.
struct Figure {
  std::string_view name;
  Rational value;
  std::string of;
  bool time = false;  // in the set's time unit; else threads or counts
  friend bool operator==(const Figure&, const Figure&) = default;
};

// A violated condition, with its numbers.
struct Unmet {
  std::string condition;
  std::vector<Figure> numbers;
  bool stopped = false;  // a search hit its step limit: a bound may still exist
  friend bool operator==(const Unmet&, const Unmet&) = default;
};

// For a task, or a kernel of a one-shot set: a response time never exceeded, or why there is none. One-shot
// kernels: completion time from instant 0.
using BoundOrUnmet = std::variant<Rational, Unmet>;

struct BoundResult {
  std::vector<BoundOrUnmet> tasks;  // in the file's order
  std::vector<Figure> figures;      // of the whole set: lambda, B*
  // Proven bounds that may exceed the theorem's because a search hit its step limit: the substitute, by task.
  std::map<std::size_t, std::string> looser;
};

// The bound applies to no task, for one reason.
inline BoundResult nowhere(std::size_t tasks, const Unmet& why) {
  return {std::vector<BoundOrUnmet>(tasks, why), {}, {}};
}

// Computes a bound from one form of task set. Analyses hold the theorems' symbols; times are in the analysis'
// unit.
using ComputeSporadic = BoundResult (*)(const SporadicAnalysis&);
using ComputeOneShot = BoundResult (*)(const OneShotAnalysis&);
using ComputeOwning = BoundResult (*)(const OwningTasks&);

struct Bound : Described {
  std::variant<ComputeSporadic, ComputeOneShot, ComputeOwning> compute;
  // Covered by the proof; for sporadic sets only.
  std::vector<QueueOrder> orders;
  bool on_multiprocessors = true;
};
using Bounds = Registry<Bound>;

struct BoundRegistration : Registration<Bound> {
  BoundRegistration(std::string name, std::string summary, ComputeSporadic compute,
                    std::vector<QueueOrder> orders, bool on_multiprocessors,
                    const std::source_location& where = std::source_location::current())
      : Registration<Bound>(
            Bound{{std::move(name), std::move(summary), {}}, compute, std::move(orders), on_multiprocessors},
            where) {}
  BoundRegistration(std::string name, std::string summary, ComputeOneShot compute,
                    const std::source_location& where = std::source_location::current())
      : Registration<Bound>(Bound{{std::move(name), std::move(summary), {}}, compute, {}, true}, where) {}
  BoundRegistration(std::string name, std::string summary, ComputeOwning compute,
                    const std::source_location& where = std::source_location::current())
      : Registration<Bound>(Bound{{std::move(name), std::move(summary), {}}, compute, {}, true}, where) {}
};

// Limits a search. When exhausted, the bound is looser or missing, never wrong, and says so. Counts steps, so
// that results do not depend on the machine.
class Steps {
 public:
  explicit Steps(std::int64_t most) : left_(most) {}
  bool take(std::int64_t n = 1) { return (left_ -= n) >= 0; }

 private:
  std::int64_t left_;
};

}  // namespace gangway

// Response-time bounds: what one of them says about a task set. Each theorem is one file that registers
// itself; models/bounds/README.md has the proofs under the same names.
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

// A number with the name it has in the theorem: H_i, M*, lambda. `of` is the task it belongs to, where there
// is one.
struct Figure {
  std::string_view name;
  Rational value;
  std::string of;
  bool time = false;  // in the set's unit of time; else threads, counts
  friend bool operator==(const Figure&, const Figure&) = default;
};

// A condition that does not hold, with the numbers that show it.
struct Unmet {
  std::string condition;
  std::vector<Figure> numbers;
  bool stopped = false;  // a search at its step limit: the theorem may have a bound all the same
  friend bool operator==(const Unmet&, const Unmet&) = default;
};

// Of one task, or of one kernel of a one-shot set: a response time that is never exceeded, or why there is
// none. One-shot kernels: completion, counted from instant 0.
using BoundOrUnmet = std::variant<Rational, Unmet>;

struct BoundResult {
  std::vector<BoundOrUnmet> tasks;  // in the file's order
  std::vector<Figure> figures;      // of the whole set: lambda, B*
  // Bounds that are proven, but may be above what the theorem says as a search stopped at its step limit:
  // what stands in the place of its result, by task.
  std::map<std::size_t, std::string> looser;
};

// The bound applies to no task, for one reason.
inline BoundResult nowhere(std::size_t tasks, const Unmet& why) {
  return {std::vector<BoundOrUnmet>(tasks, why), {}, {}};
}

// How a bound is computed from one form of task sets. The analyses have the theorems' symbols; times that go
// in and out are in the analysis' own unit.
using ComputeSporadic = BoundResult (*)(const SporadicAnalysis&);
using ComputeOneShot = BoundResult (*)(const OneShotAnalysis&);
using ComputeOwning = BoundResult (*)(const OwningTasks&);

struct Bound : Described {
  std::variant<ComputeSporadic, ComputeOneShot, ComputeOwning> compute;
  // What the proof covers; for sporadic sets only.
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

// A search that would take too long is given up: the bound is looser or missing then, never wrong, and says
// so. Counted in steps, so that results do not depend on the machine.
class Steps {
 public:
  explicit Steps(std::int64_t most) : left_(most) {}
  bool take(std::int64_t n = 1) { return (left_ -= n) >= 0; }

 private:
  std::int64_t left_;
};

}  // namespace gangway

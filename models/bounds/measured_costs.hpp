// Turns a task set with measured costs (`costs:`) into one without, so that the theorems hold for the real
// device; proof in experiments/bounds/chip.md. Each cost enters in one place here and is checked in every run
// (owner_assumptions.hpp, queue_assumptions.hpp).
#pragma once

#include "models/bounds/report.hpp"
#include "models/input/document.hpp"
#include "models/taskset.hpp"

namespace gangway {

struct InflatedSet {
  TaskSet set;     // without costs
  Rational later;  // to be added to the bounds: from a release until the job is in the queue
};

// Returns a set without costs unchanged. Throws InputError if the step does not cover the set: one-shot
// kernels, a queue order other than became-head, stream priorities, fewer than two tasks sharing the device,
// or a period no longer than the cost of releasing or launching a job.
InflatedSet with_costs(const TaskSet& set);

// All bounds of the inflated set, plus `later`. InputError if the set has costs and some task never waits for
// room, which the step does not cover.
BoundReport bound_with_costs(const TaskSet& set);

// For a set that was read from `file`, whose lines the errors name. The first throws what with_costs() does,
// but for kernels submitted once, which have no costs, nothing.
void check_costs(const TaskSet& set, const Node& file);
BoundReport bound_with_costs(const TaskSet& set, const Node& file);

}  // namespace gangway

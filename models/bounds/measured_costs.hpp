// From a task set with measured costs (`costs:` of its file) to one without, whose theorems speak of the real
// device: the step that experiments/bounds/chip.md proves. Each cost enters at one place here, and each is
// checked in every run (owner_assumptions.hpp, queue_assumptions.hpp).
#pragma once

#include "models/bounds/report.hpp"
#include "models/taskset.hpp"

namespace gangway {

struct InflatedSet {
  TaskSet set;     // without costs
  Rational later;  // to be added to what its theorems say: from a release until the job is in the queue
};

// A set without costs is returned as it is. Throws InputError where the step does not cover the set: kernels
// submitted once, another order than became-head, stream priorities, fewer than two tasks that share the
// device, a period that is no longer than what it costs to release or to launch a job.
InflatedSet with_costs(const TaskSet& set);

// Every bound of the inflated set, with `later` added. Where the set has costs and a task never waits for
// room, which the step does not cover, InputError.
BoundReport bound_with_costs(const TaskSet& set);

}  // namespace gangway

// A study file: over many task sets, how many have proven response-time bounds, how many meet deadlines or
// grow in simulation, and how close observations come to the bounds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/sweeps/configuration.hpp"
#include "experiments/sweeps/group_counts.hpp"
#include "experiments/sweeps/sweep.hpp"
#include "models/taskset.hpp"
#include "workloads/owner_set_generator.hpp"

namespace gangway {

// One combination of the swept parameters.
struct StudyPoint {
  std::shared_ptr<const TaskSetGenerator> generator;  // or
  std::shared_ptr<const OwnerSetGenerator> owners;    // or the sets below
  std::vector<TaskSet> given;
  std::vector<QueueOrder> orders;  // every set is judged in each of these; empty: the set's own
  std::uint64_t sets = 0;
  std::uint64_t seed = 1;

  // Set `number` of the point, in its `order`-th order.
  TaskSet set(std::uint64_t number, std::size_t order) const;
  std::string order_of(std::size_t order) const;  // name; empty: the set's own
  std::size_t order_count() const { return orders.empty() ? 1 : orders.size(); }
};

struct Study {
  std::string name, title;
  Sweep sweep;
  std::optional<std::uint64_t> simulated_jobs;  // per task in one long run
  std::optional<std::uint64_t> search_steps;    // per task
  bool write_tasks = false;
  std::optional<std::uint64_t> seed = 1;  // none if swept
  std::string configuration, identity;    // the resolved file as JSON, and its hash
  Node root;                              // the resolved file
  std::uint64_t sets = 0;                 // per point and order
  GroupCounts groups;                     // orders per point; 1 if sets keep their own

  // Points are read on demand. Throws InputError if a point's values conflict.
  StudyPoint point(std::uint32_t index) const;
};

// Throws InputError.
Study read_study(Configuration configuration, const std::vector<Override>& overrides);

}  // namespace gangway

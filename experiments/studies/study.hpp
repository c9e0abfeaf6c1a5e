// What a study file says: over many task sets, how many have proven response-time bounds, how many are seen
// to meet deadlines or to grow, and how near what is seen comes to the bounds.
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
  std::vector<QueueOrder> orders;  // in each of which every set is judged; none: the set's own
  std::uint64_t sets = 0;
  std::uint64_t seed = 1;

  // Set `number` of the point in its `order`-th order.
  TaskSet set(std::uint64_t number, std::size_t order) const;
  std::string order_of(std::size_t order) const;  // its name; empty: the set's own
  std::size_t order_count() const { return orders.empty() ? 1 : orders.size(); }
};

struct Study {
  std::string name, title;
  Sweep sweep;
  std::optional<std::uint64_t> simulated_jobs;  // of each task in one long run
  std::optional<std::uint64_t> search_steps;    // for each task
  bool write_tasks = false;
  std::optional<std::uint64_t> seed = 1;  // none where it is swept: each point has its own
  std::string configuration, identity;    // the resolved file as JSON, and a hash of it
  Node root;                              // the resolved file
  std::uint64_t sets = 0;                 // of every point in every order
  GroupCounts groups;                     // orders of points, 1 where sets have their own

  // Points are read when they are asked for. Throws InputError where the values of one do not go together.
  StudyPoint point(std::uint32_t index) const;
};

// Throws InputError.
Study read_study(Configuration configuration, const std::vector<Override>& overrides);

}  // namespace gangway

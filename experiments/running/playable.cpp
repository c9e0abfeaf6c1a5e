#include "experiments/running/playable.hpp"

#include <algorithm>

namespace gangway {

const WorldEntry& simulation() {
  static const WorldEntry& world = Worlds::named("sim", "experiment", "world");
  return world;
}

bool moves_memory(const std::vector<Contender>& policies) {
  return std::any_of(policies.begin(), policies.end(), [](const Contender& contender) {
    return contender.entry->make(contender.values)->needs().has(Capability::memory);
  });
}

bool only_elsewhere(const Contender& contender, const Point& point) {
  if (runs_programs_alone(point.workload_of(contender).sample())) return true;
  if (point.device_of(contender).gpus == 1) return false;
  const auto policy = contender.entry->make(contender.values);
  const Capabilities needs = policy->needs();
  return !policy->several_gpus() && needs.has(Capability::ranges) && !needs.has(Capability::memory);
}

void check_playable(const WorldEntry& world, const Contender& contender, const Point& point, bool moves) {
  const auto policy = contender.entry->make(contender.values);
  const auto mechanism = contender.mechanism.entry->make(contender.mechanism.values);
  const WorkloadSource& workload = point.workload_of(contender);
  const WorldSetup setup{.workload = workload.sample(),
                         .device = point.device_of(contender),
                         .mechanism = *mechanism,
                         .granting = contender.granting,
                         .placing = contender.placing,
                         .moves_memory = moves};
  world.check({setup, *policy, contender.label, workload.place(), contender.gpus, contender.gpus_path,
               contender.grant, contender.grant_path, contender.place, contender.time_slice,
               contender.time_slice_path},
              world);
}

}  // namespace gangway

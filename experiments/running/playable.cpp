#include "experiments/running/playable.hpp"

namespace gangway {

const WorldEntry& simulation() {
  static const WorldEntry& world = Worlds::named("sim", "experiment", "world");
  return world;
}

void check_playable(const WorldEntry& world, const Contender& contender, const Point& point) {
  const auto policy = contender.entry->make(contender.values);
  const auto mechanism = contender.mechanism.entry->make(contender.mechanism.values);
  const WorkloadSource& workload = point.workload_of(contender);
  const WorldSetup setup{.workload = workload.sample(),
                         .device = point.device_of(contender),
                         .mechanism = *mechanism,
                         .granting = contender.granting,
                         .placing = contender.placing};
  world.check({setup, *policy, contender.label, workload.place(), contender.gpus, contender.gpus_path,
               contender.grant, contender.grant_path},
              world);
}

}  // namespace gangway

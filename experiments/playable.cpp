#include "experiments/playable.hpp"

#include <fmt/format.h>

namespace gangway {
namespace {

// A grant of a whole job is an order to launch and an order to evict, and nothing else.
void check_grant(const Contender& contender, const Policy& policy) {
  if (contender.granting.of == GrantOf::kernel) return;
  const Capabilities rest = policy.needs().missing_from({Capability::evict});
  if (rest.none()) return;
  throw InputError(
      contender.grant, contender.grant_path, "job",
      fmt::format("kernel, since {} cannot be given whole jobs: it needs {}", contender.label, rest.text()));
}

}  // namespace

const WorldEntry& simulation() {
  static const WorldEntry& world = Worlds::named("sim", "experiment", "world");
  return world;
}

void check_playable(const WorldEntry& world, const Contender& contender, const Point& point) {
  const auto policy = contender.entry->make(contender.values);
  const auto mechanism = contender.mechanism.entry->make(contender.mechanism.values);
  check_grant(contender, *policy);
  const WorkloadSource& workload = point.workload_of(contender);
  const WorldSetup setup{.workload = workload.sample(),
                         .device = point.device_of(contender),
                         .mechanism = *mechanism,
                         .granting = contender.granting};
  world.check({setup, *policy, contender.label, workload.place(), contender.gpus, contender.gpus_path},
              world);
}

}  // namespace gangway

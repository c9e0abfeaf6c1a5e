#include "experiments/running/unmanaged_runs.hpp"

#include <numeric>

#include "experiments/running/playable.hpp"

namespace gangway {

UnmanagedRuns::UnmanagedRuns(const Workload& workload, const Device& device)
    : order_(workload.clients.size()) {
  const MechanismEntry& known = Mechanisms::named("ideal", "simulation", "mechanism");
  mechanism_ = known.make(ParameterValues(known.parameters, std::nullopt));
  world_ = simulation().make({.workload = workload, .device = device, .mechanism = *mechanism_});
  std::iota(order_.begin(), order_.end(), 0u);
}

std::uint64_t UnmanagedRuns::play(std::uint64_t seed, TraceSink& sink) {
  const PolicyEntry& passthrough = Policies::named("passthrough", "simulation", "policy");
  const auto policy = passthrough.make(ParameterValues(passthrough.parameters, std::nullopt));
  return world_->run(*policy, {.seed = seed}, order_, sink);
}

}  // namespace gangway

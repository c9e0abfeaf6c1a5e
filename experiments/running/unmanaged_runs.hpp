// Simulated runs without a policy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/world.hpp"

namespace gangway {

// Plays a workload under `passthrough` any number of times. The references' content may change between runs,
// except the number of clients, their names, kernels, recordings and streams.
class UnmanagedRuns {
 public:
  UnmanagedRuns(const Workload& workload, const Device& device);
  // Returns the number of events.
  std::uint64_t play(std::uint64_t seed, TraceSink& sink);

 private:
  std::unique_ptr<Mechanism> mechanism_;
  std::unique_ptr<World> world_;
  std::vector<std::uint32_t> order_;
};

}  // namespace gangway

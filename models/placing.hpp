// Placement of clients that stay on one of several GPUs.
#pragma once

#include <cstdint>

#include "models/gpu_set.hpp"

namespace gangway {

enum class Placing : std::uint8_t {
  fixed,       // in client order, round robin
  least_used,  // at the release of a client's first job: the GPU whose clients are expected to use it least
};

// Assigns clients in turn, in client order, to the GPUs that they may use. The device has `gpus`; the client
// may use at least one.
inline DeviceId placed_in_turn(GpuSet may_use, std::uint32_t client, std::uint32_t gpus) {
  may_use = common(may_use, GpuSet::first(gpus));
  for (std::uint32_t skip = client % may_use.size(); skip > 0; --skip) may_use.remove(may_use.lowest());
  return may_use.lowest();
}

}  // namespace gangway

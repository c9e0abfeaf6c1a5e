// On which GPU of several a client is that stays where it was placed.
#pragma once

#include <cstdint>

#include "models/gpu_set.hpp"

namespace gangway {

enum class Placing : std::uint8_t {
  fixed,         // clients take turns, in their order
  least_loaded,  // when a client's first job is released: where those present use the least time
};

// Clients take turns at the GPUs that they may use, in client order. `gpus` of them are on the device; of
// these the client may use at least one.
inline DeviceId placed_in_turn(GpuSet may_use, std::uint32_t client, std::uint32_t gpus) {
  may_use = common(may_use, GpuSet::first(gpus));
  for (std::uint32_t skip = client % may_use.size(); skip > 0; --skip) may_use.remove(may_use.lowest());
  return may_use.lowest();
}

}  // namespace gangway

#include "models/workload.hpp"

#include <algorithm>

namespace gangway {

Duration Kernel::transformed() const { return scaled_nearest(time, transformation_overhead); }

std::int32_t static_priority(const Client& client, const Kernel& kernel, std::int32_t inherited) {
  const std::int32_t asked = kernel.priority.value_or(inherited);
  return client.privileged ? asked : std::min(asked, inherited);
}

}  // namespace gangway

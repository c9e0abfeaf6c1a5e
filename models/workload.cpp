#include "models/workload.hpp"

#include <algorithm>

namespace gangway {

Duration Kernel::transformed() const { return scaled_nearest(time, transformation_overhead); }

std::int32_t static_priority(const Client& client, const Kernel& kernel) {
  const std::int32_t asked = kernel.priority.value_or(client.priority);
  return client.privileged ? asked : std::min(asked, client.priority);
}

}  // namespace gangway

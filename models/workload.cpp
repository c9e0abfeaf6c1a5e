#include "models/workload.hpp"

#include <algorithm>

namespace gangway {

Duration Kernel::transformed() const { return scaled_nearest(time, transformation_overhead); }

StateSizes state_sizes(const Client& client) {
  if (client.variables.empty()) return {client.memory, client.memory, client.memory};
  StateSizes sizes;
  for (const Variable& v : client.variables) {
    if (v.input) sizes.first_restore.count += v.size.count;
    if (v.input || v.dirty) sizes.restore.count += v.size.count;
    if (v.dirty) sizes.save.count += v.size.count;
  }
  return sizes;
}

std::int32_t static_priority(const Client& client, const Kernel& kernel, std::int32_t inherited) {
  const std::int32_t asked = kernel.priority.value_or(inherited);
  return client.privileged ? asked : std::min(asked, inherited);
}

}  // namespace gangway

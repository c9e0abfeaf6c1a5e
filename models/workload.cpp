#include "models/workload.hpp"

#include <algorithm>

namespace gangway {

Duration Kernel::transformed() const { return scaled_nearest(time, transformation_overhead); }

namespace {

void add(StateSizes& sizes, const Variable& v, Bytes size) {
  sizes.footprint += size;
  if (v.input) sizes.first_restore += size;
  if (v.input || v.dirty) sizes.restore += size;
  if (v.dirty) sizes.save += size;
  if (v.output) sizes.output += size;
}

}  // namespace

StateSizes state_sizes(const Client& client) {
  if (client.variables.empty())
    return {client.memory, client.memory, client.memory, client.memory, client.copy_out};
  StateSizes sizes;
  for (const Variable& v : client.variables) add(sizes, v, v.size);
  sizes.footprint = client.memory;
  return sizes;
}

StateSizes block_sizes(const Client& client) {
  StateSizes sizes;
  for (const Variable& v : client.variables)
    if (v.map) add(sizes, v, v.map->size);
  return sizes;
}

bool has_own_pace(const Client& client) {
  const Repeat& repeat = client.repeat;
  return !repeat.think && !repeat.is_scheduled();
}

bool runs_programs_alone(const Workload& workload) {
  return std::any_of(workload.clients.begin(), workload.clients.end(),
                     [](const Client& client) { return client.command && !client.recorded; });
}

bool plays_recordings(const Workload& workload) {
  return std::any_of(workload.clients.begin(), workload.clients.end(),
                     [](const Client& client) { return client.recorded != nullptr; });
}

BlockCount largest_grid(const Client& client) {
  BlockCount most;
  for (const Kernel& kernel : client.kernels) most = std::max(most, kernel.block_tasks);
  return most;
}

std::int32_t static_priority(const Client& client, const Kernel& kernel, std::int32_t inherited) {
  const std::int32_t asked = kernel.priority.value_or(inherited);
  return client.privileged ? asked : std::min(asked, inherited);
}

}  // namespace gangway

#include "experiments/playable.hpp"

#include <fmt/format.h>

#include "models/world.hpp"

namespace gangway {
namespace {

// Where clients submit to channels of their own nobody uses other queues of the device's.
std::optional<Refusal> refusal_by_channels(const Client& client) {
  if (!client.native) return std::nullopt;
  return Refusal{"native: true", "no native clients where all submit to channels"};
}

// Native clients issue all of a job at once, others need the mechanism.
std::optional<Refusal> refusal_by_gpu(const Kernel& kernel, bool native, const Contender& policy,
                                      const Mechanism& mechanism, const Device& device) {
  if (native && kernel.gap > Duration{})
    return Refusal{"a gap in the program of a native client", "none, or arbitration: direct"};
  if (native) return std::nullopt;
  auto refused = mechanism.refusal(kernel, device);
  if (refused) refused->found += " under the mechanism " + quote(policy.mechanism.entry->name);
  return refused;
}

// Several GPUs are for policies that know of them, and have no queues of their own that anybody else uses.
void check_gpus(const Contender& contender, const Policy& policy, const Device& device,
                const Workload& clients, const Field& field) {
  if (device.gpus == 1) return;
  const auto found = fmt::format("{} GPUs", device.gpus);
  if (!policy.several_gpus())
    field.fail(found, "1 under the policy " + quote(contender.label) + ", which schedules one");
  for (const Client& client : clients.clients)
    if (client.native)
      field.fail(found + " with the native client " + quote(client.name), "1, or no native clients");
}

}  // namespace

void check_playable(const Contender& contender, const Point& point, const Field& gpus) {
  const auto policy = contender.entry->make(contender.values);
  const auto mechanism = contender.mechanism.entry->make(contender.mechanism.values);
  const Device& device = point.device_of(contender);
  const Workload& clients = point.workload_of(contender).sample();
  const WorkloadPlace& place = point.workload_of(contender).place();
  const bool channels = uses_channels(*policy, device);
  const bool all_native = policy->needs().has(Capability::native);
  check_gpus(contender, *policy, device, clients, gpus);
  check_memory(clients, device, place, policy->needs().has(Capability::memory));
  for (const Client& client : clients.clients)
    for (const Kernel& kernel : client.kernels) {
      auto refused = channels
                         ? refusal_by_channels(client)
                         : refusal_by_gpu(kernel, all_native || client.native, contender, *mechanism, device);
      if (!refused) refused = policy->refusal(kernel, device);
      if (refused)
        throw InputError(kernel.origin.line > 0 ? kernel.origin : place.origin,
                         place.path + ".clients." + client.name + ".kernels." + kernel.name, refused->found,
                         refused->expected);
    }
}

}  // namespace gangway

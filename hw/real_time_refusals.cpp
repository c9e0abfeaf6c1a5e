#include "hw/real_time_refusals.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hw/protocol.hpp"

namespace gangway {
namespace {

const RealMechanismEntry* half_of(const MechanismEntry& mechanism, const RealDeviceEntry& device) {
  for (const RealMechanismEntry& half : RealMechanisms::all())
    if (half.name == mechanism.name && device.has(half)) return &half;
  return nullptr;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Several GPUs are one device there, whose launches are divided among them.
void check_several_gpus(const WorldRequest& request, const WorldEntry& world) {
  const auto refuse = [&](const std::string& expected) {
    throw InputError(request.gpus, request.gpus_path, fmt::format("{} GPUs", request.setup.device.gpus),
                     expected);
  };
  const std::string& mechanism = request.setup.mechanism.entry().name;
  if (RealDevices::named(world.name, "world", "device").make_several == nullptr)
    refuse(fmt::format("1 in the world {}, or the world sim", world.name));
  if (mechanism != "slice" && mechanism != "microkernel")
    refuse(fmt::format("1 in the world {} under the mechanism {}; several under slice or microkernel",
                       world.name, mechanism));
  if (request.policy.needs().has(Capability::native))
    refuse(fmt::format("1 in the world {} for native clients", world.name));
  const GpuSet all = GpuSet::first(static_cast<std::uint32_t>(request.setup.device.gpus));
  for (const Client& client : request.setup.workload.clients)
    if (common(client.gpus, all) != all)
      refuse(fmt::format("1 in the world {} where {} may not use all of them", world.name, client.name));
}

}  // namespace

std::vector<std::string> mechanisms_of(const RealDeviceEntry& device) {
  std::vector<std::string> names;
  for (const MechanismEntry& mechanism : Mechanisms::all())
    if (half_of(mechanism, device) != nullptr && mechanism.needs <= device.offers)
      names.push_back(mechanism.name);
  return names;
}

const RealMechanismEntry& real_half(const Mechanism& mechanism, const RealDeviceEntry& device) {
  const Origin origin{"--world " + device.name, 0};
  const MechanismEntry& entry = mechanism.entry();
  const RealMechanismEntry* half = half_of(entry, device);
  if (half == nullptr)
    throw InputError(origin, "mechanism", quote(entry.name),
                     expected_names(entry.name, mechanisms_of(device)));
  if (entry.needs > device.offers)
    throw InputError(
        origin, "mechanism",
        fmt::format("{}, which needs preemption between {}", quote(entry.name), text_of(entry.needs)),
        fmt::format("a mechanism that needs no more than preemption between {}", text_of(device.offers)));
  for (const Parameter& parameter : entry.parameters)
    if (!contains(half->obeyed, parameter.name) && !contains(half->descriptive, parameter.name) &&
        !mechanism.values().is_default(parameter))
      mechanism.values().refuse(parameter.name, fmt::format("{}, because the world {} cannot change it",
                                                            parameter.default_text(), device.name));
  return *half;
}

void check_kernels(const WorldSetup& setup) {
  for (const Client& client : setup.workload.clients)
    for (const Kernel& kernel : client.kernels) {
      if (kernel.block_tasks.count >= kMostBlockTasks)
        throw InputError(kernel.origin, kernel.name, fmt::format("{} block-tasks", kernel.block_tasks.count),
                         fmt::format("fewer than {} in a real-time world", kMostBlockTasks));
      if (kernel.gap > Duration{})
        throw InputError(kernel.origin, kernel.name + ".gap", to_text(kernel.gap), "none, or the world sim");
      if (kernel.host_work > Duration{})
        throw InputError(kernel.origin, kernel.name + ".host_work", to_text(kernel.host_work),
                         "none, or the world sim");
      // How long it takes alone is computed as in `sim`.
      if (const auto refused = setup.mechanism.refusal(kernel, setup.device))
        throw InputError(kernel.origin, kernel.name,
                         refused->found + " under the mechanism " + quote(setup.mechanism.entry().name),
                         refused->expected);
    }
}

void check_real_time(const WorldRequest& request, const WorldEntry& world) {
  real_half(request.setup.mechanism, RealDevices::named(world.name, "world", "device"));
  check_capabilities(request, world);
  if (request.setup.device.gpus != 1) check_several_gpus(request, world);
  if (!request.policy.needs().has(Capability::native)) check_kernels(request.setup);
}

}  // namespace gangway

#include "sim/simulation_refusals.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/shown.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 60;  // bytes; sums stay below twice that

void add(Bytes& sum, Bytes size) { sum.count = std::min(kMost, sum.count + size.count); }

// Recorded programs' memory leaves the GPU under whole-job grants if some policy of the experiment moves it.
bool moves_states(const WorldRequest& request) {
  const Capabilities needs = request.policy.needs();
  return request.setup.moves_memory && plays_recordings(request.setup.workload) &&
         !needs.has(Capability::access) && !needs.has(Capability::native);
}

// The memory of all clients that may use a GPU must fit there together, or under a policy that moves it each
// client's by itself, beside that of native clients.
void check_memory(const WorldRequest& request, DeviceId gpu) {
  const Workload& workload = request.setup.workload;
  const Device& device = request.setup.device;
  const WorkloadPlace& place = request.workload;
  const bool moved = request.policy.needs().has(Capability::memory) || moves_states(request);
  Bytes fixed, largest;
  std::size_t whose = 0;
  for (std::size_t c = 0; c < workload.clients.size(); ++c) {
    const Client& client = workload.clients[c];
    if (!client.gpus.has(gpu)) continue;
    if (!moved || client.native)
      add(fixed, client.memory);
    else if (client.memory > largest)
      largest = client.memory, whose = c;
  }
  Bytes all = fixed;
  add(all, largest);
  if (all <= device.memory) return;
  const std::string room = fmt::format("at most the {} of {}", shown_size(device.memory), device.name);
  const std::string where = device.gpus == 1 ? "in all" : fmt::format("on GPU {}", gpu.index);
  if (!moved)
    throw InputError(place.of(0), place.path + ".clients", shown_size(all) + " of client memory " + where,
                     room);
  const std::string beside = fixed.count > 0 ? " beside the " + shown_size(fixed) + " of native clients" : "";
  throw InputError(place.of(whose), place.path + ".clients." + workload.clients[whose].name,
                   "a footprint of " + shown_size(largest) + beside, room);
}

// Where clients submit to channels of their own nobody uses other queues of the device's.
std::optional<Refusal> refusal_by_channels(const Client& client) {
  if (!client.native) return std::nullopt;
  return Refusal{"native: true", "no native clients if all submit to channels"};
}

// Native clients issue all of a job at once. Others need the mechanism, by which all times alone are
// computed.
std::optional<Refusal> refusal_by_gpu(const Kernel& kernel, bool native, const WorldSetup& setup) {
  if (native && kernel.gap > Duration{})
    return Refusal{"a gap in the program of a native client", "none, or arbitration: direct"};
  if (native && kernel.host_work > Duration{})
    return Refusal{"host_work in the program of a native client", "none, or arbitration: direct"};
  auto refused = setup.mechanism.refusal(kernel, setup.device);
  if (refused) refused->found += " under the mechanism " + quote(setup.mechanism.entry().name);
  return refused;
}

// Several GPUs are for policies that know of them, and have no queues of their own that anybody else uses.
// Clients that may use only some of them are for policies that heed it. Recorded programs stay on one, so
// nobody needs to know of several where all is left to the device.
void check_gpus(const WorldRequest& request) {
  const Device& device = request.setup.device;
  if (device.gpus == 1) return;
  if (plays_recordings(request.setup.workload) && request.policy.needs().has(Capability::native)) return;
  const auto fail = [&](const std::string& found, const std::string& expected) {
    throw InputError(request.gpus, request.gpus_path, found, expected);
  };
  const auto found = fmt::format("{} GPUs", device.gpus);
  if (!request.policy.several_gpus())
    fail(found, "1 under the policy " + quote(request.label) + ", which schedules one");
  const std::vector<Client>& clients = request.setup.workload.clients;
  for (const Client& client : clients)
    if (client.native)
      fail(found + " with the native client " + quote(client.name), "1, or no native clients");
  if (request.policy.heeds_clients_gpus()) return;
  const GpuSet all = GpuSet::first(static_cast<std::uint32_t>(device.gpus));
  for (std::size_t c = 0; c < clients.size(); ++c)
    if (common(clients[c].gpus, all) != all)
      throw InputError(request.workload.of(c),
                       request.workload.path + ".clients." + clients[c].name + ".gpus",
                       fmt::format("{} of {} GPUs", clients[c].gpus.size(), device.gpus),
                       "all of them under the policy " + quote(request.label) + ", which ignores `gpus`");
}

// A policy's persistent blocks end when they see a flag, not after a time of which some is left.
void check_stopped_blocks(const WorldRequest& request) {
  const Device& device = request.setup.device;
  if (device.arbitration != Arbitration::timeslice || !device.time_slice->stops_blocks ||
      !device.rules.on(Rule::T1))
    return;
  const std::vector<Client>& clients = request.setup.workload.clients;
  for (std::size_t c = 0; c < clients.size(); ++c)
    if (clients[c].native)
      throw InputError(request.workload.of(c),
                       request.workload.path + ".clients." + clients[c].name + ".native",
                       "true under " + quote(request.label) + " on a device whose time slices stop blocks",
                       "time_slice.blocks: end, or all clients native (passthrough)");
}

// Time slices contain what stopped kernels take to go on.
void check_resumption(const WorldRequest& request, const char* whose) {
  const Device& device = request.setup.device;
  const Duration length = device.time_slice->length,
                 resume = std::max(device.time_slice->resume, device.time_slice->resume_full);
  if (resume >= length)
    throw InputError(request.time_slice, request.time_slice_path,
                     fmt::format("{} on {}, whose time slices of {} are no longer than what stopped kernels "
                                 "take to go on ({})",
                                 whose, device.name, to_text(length), to_text(resume)),
                     "a longer `length`, or less `resume` and `resume_full`");
}

// Recorded programs share a device among themselves, under policies that need to know nothing of their
// kernels.
void check_recorded(const WorldRequest& request) {
  const WorldSetup& setup = request.setup;
  const WorkloadPlace& place = request.workload;
  for (std::size_t c = 0; c < setup.workload.clients.size(); ++c)
    if (setup.workload.clients[c].recorded == nullptr)
      throw InputError(place.of(c), place.path + ".clients." + setup.workload.clients[c].name,
                       "a client with kernels beside recorded programs", "a recording, as the others have");
  if (setup.device.arbitration != Arbitration::mps && !setup.device.time_slice)
    throw InputError(place.origin, place.path + ".clients",
                     "recorded programs on " + setup.device.name + ", whose time slices are not known",
                     "a device with `time_slice: {length, switch}`, or `arbitration: mps`");
  if (setup.device.arbitration != Arbitration::mps) check_resumption(request, "recorded programs");
  const Capabilities needs = request.policy.needs();
  const bool access = needs.has(Capability::access);
  const bool slices = needs.has(Capability::ranges) && !needs.has(Capability::memory);
  const Capabilities rest =
      slices ? needs.missing_from({Capability::ranges})
             : needs.missing_from({Capability::evict, Capability::native, Capability::access,
                                   Capability::intercept, Capability::sampling, Capability::memory});
  if (!rest.none())
    throw InputError(
        request.place, "policies." + request.label, "a policy that needs " + rest.text(),
        "a policy for recorded programs: of whole jobs (blocks: job), access, or slices of kernels "
        "whose memory stays (state: resident); or clients with kernels");
  if (slices && (setup.granting.of == GrantOf::job || setup.granting.forms == TakeForms::none))
    throw InputError(
        request.grant, request.grant_path,
        fmt::format("{} for {}, which launches slices of kernels with a form",
                    setup.granting.of == GrantOf::job ? "job" : "forms: none", request.label),
        "{forms: worth}; if other policies here need grant: job, a key `grant` of this policy alone");
  if (slices && setup.device.gpus > 1)
    throw InputError(request.gpus, request.gpus_path, fmt::format("{} GPUs", setup.device.gpus),
                     "1 for slices of recorded programs' kernels");
  if (!access && !slices && !needs.has(Capability::native) && setup.granting.of != GrantOf::job)
    throw InputError(request.grant, request.grant_path, "kernel",
                     "job, since " + request.label + " hands out recorded programs' jobs");
  if (needs.has(Capability::memory) && setup.device.gpus > 1)
    throw InputError(request.gpus, request.gpus_path, fmt::format("{} GPUs", setup.device.gpus),
                     "1 for recorded programs under " + quote(request.label) + ", which moves their memory");
  if (const auto refused = access ? request.policy.refusal({}, setup.device) : std::nullopt)
    throw InputError(request.place, "policies." + request.label, refused->found, refused->expected);
}

}  // namespace

void check_simulation(const WorldRequest& request, const WorldEntry& world) {
  const WorldSetup& setup = request.setup;
  const WorkloadPlace& place = request.workload;
  if (plays_recordings(setup.workload)) check_recorded(request);
  const bool channels = uses_channels(request.policy, setup.device);
  const bool all_native = request.policy.needs().has(Capability::native);
  check_capabilities(request, world);
  check_gpus(request);
  if (!all_native) check_stopped_blocks(request);
  if (all_native && setup.device.arbitration == Arbitration::timeslice &&
      setup.device.time_slice->stops_blocks)
    check_resumption(request, "clients");
  for (std::uint32_t gpu = 0; gpu < setup.device.gpus; ++gpu) check_memory(request, {gpu});
  for (const Client& client : setup.workload.clients)
    for (const Kernel& kernel : client.kernels) {
      auto refused =
          channels ? refusal_by_channels(client) : refusal_by_gpu(kernel, all_native || client.native, setup);
      if (!refused) refused = request.policy.refusal(kernel, setup.device);
      if (refused)
        throw InputError(kernel.origin.line > 0 ? kernel.origin : place.origin,
                         place.path + ".clients." + client.name + ".kernels." + kernel.name, refused->found,
                         refused->expected);
    }
}

}  // namespace gangway

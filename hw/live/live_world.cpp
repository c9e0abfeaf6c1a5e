// The world `live`: clients are programs as they are, under a daemon in this process.
#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <utility>

#include "hw/driver_facts.hpp"
#include "hw/live/gpu_claims.hpp"
#include "hw/live/live_session.hpp"
#include "hw/live/memory/pinnable_memory.hpp"
#include "models/shown.hpp"
#include "models/world.hpp"

namespace gangway {
namespace {

constexpr std::size_t kLongestName = 63;  // hw/live/socket.hpp

// The driver keeps a little of what a GPU's name promises.
void check_memory(Bytes wanted, const live::GpuFacts& gpu) {
  constexpr double kKept = 0.05;
  if (wanted == Device::kAnyMemory) return;
  const Bytes here{static_cast<std::int64_t>(gpu.memory)};
  if (static_cast<double>(here.count) < (1 - kKept) * static_cast<double>(wanted.count))
    throw RunError(fmt::format("device.memory is {}, and this GPU has {}: set device.memory to what it has",
                               shown_size(wanted), shown_size(here)));
}

// Its programs go on from one unit of an experiment to the next.
struct ClaimedSession {
  live::GpuClaims claims;
  live::LiveSession live;
  bool noted = false;  // a run has remarked what the claims say
};

ClaimedSession& session(const WorldSetup& setup) {
  static std::unique_ptr<ClaimedSession> session;
  if (session != nullptr && session->live.is_for(setup)) return *session;
  session.reset();
  const auto wanted = static_cast<std::size_t>(setup.device.gpus);
  std::vector<live::GpuFacts> all = live::gpus_of_driver();
  if (all.size() < wanted)
    throw RunError(fmt::format("the experiment wants {} GPUs, and this machine has {}", wanted, all.size()));
  all.resize(wanted);
  // The daemon of one GPU needs to know nothing of it.
  const std::vector<live::GpuFacts> gpus = wanted > 1 ? all : std::vector<live::GpuFacts>(1);
  live::MemorySettings memory;
  memory.managed = setup.moves_memory;
  if (memory.managed) {
    memory.host = live::host_memory_to_pin();
    memory.most = live::LiveSession::most_memory(setup);
    check_memory(setup.device.memory, all.front());
  }
  session.reset(new ClaimedSession{live::GpuClaims(all), {memory, gpus, setup.placing}});
  return *session;
}

// Of the driver alone: this program has no context of its own.
Machine gpu_here() {
  const DriverFacts driver = driver_facts();
  if (driver.gpus.empty() || driver.cuda == 0) throw RunError("the CUDA driver has no GPU");
  std::string text = fmt::format("CUDA {} driver", cuda_version_text(driver.cuda));
  if (!driver.module.empty()) text += ", " + driver.module;
  return {driver.gpus.front().name, text};
}

class LiveWorld : public World {
 public:
  explicit LiveWorld(const WorldSetup& setup) : setup_(setup) {}

  std::uint64_t run(Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order,
                    TraceSink& trace) override {
    ClaimedSession& its = session(setup_);
    const auto [records, remarks] = its.live.play({setup_, seed, order, policy, trace});
    for (const Record& record : records) trace.record(record);
    if (!std::exchange(its.noted, true))
      for (const std::string& note : its.claims.notes()) trace.remark(note);
    for (const std::string& remark : remarks) trace.remark(remark);
    return records.size();
  }

 private:
  const WorldSetup setup_;
};

// Policies that in `sim` heed where a client may run, or have nothing to decide. Each client stays on one
// GPU.
void check_several(const WorldRequest& request, const WorldEntry& world) {
  const WorldSetup& setup = request.setup;
  const auto refuse = [&](const std::string& expected) {
    throw InputError(request.gpus, request.gpus_path, fmt::format("{} GPUs", setup.device.gpus), expected);
  };
  const Capabilities needs = request.policy.needs();
  if (needs.has(Capability::ranges) ||
      (!request.policy.heeds_clients_gpus() && !needs.has(Capability::native)))
    refuse(fmt::format("1 in the world {} under the policy {}", world.name, quote(request.label)));
  if (setup.device.arbitration == Arbitration::mps)
    refuse(fmt::format("1 in the world {} with arbitration: mps", world.name));
  const GpuSet all = GpuSet::first(static_cast<std::uint32_t>(setup.device.gpus));
  for (const Client& client : setup.workload.clients)
    if (setup.placing == Placing::least_used && common(client.gpus, all) != all)
      refuse(fmt::format("place: fixed in the world {}, as {} may not use all of them", world.name,
                         client.name));
}

void check_live(const WorldRequest& request, const WorldEntry& world) {
  check_capabilities(request, world);
  const Origin origin{"--world " + world.name, 0};
  const WorldSetup& setup = request.setup;
  const Capabilities needs = request.policy.needs();
  const bool ranges = needs.has(Capability::ranges);
  if (ranges && needs.has(Capability::memory))
    throw InputError(origin, "policies." + request.label, "slices of kernels, with memory that moves",
                     "the policy's parameter state: resident in the world " + world.name);
  if (!needs.has(Capability::access) && !needs.has(Capability::native) && !ranges &&
      setup.granting.of != GrantOf::job)
    throw InputError(request.grant, request.grant_path, "kernel",
                     "job: the world " + world.name + " grants whole jobs under " + request.label);
  if (setup.granting.in_flight > live::kMostInFlight)
    throw InputError(request.grant, request.grant_path + ".in_flight",
                     std::to_string(setup.granting.in_flight),
                     fmt::format("at most {} in the world {}", live::kMostInFlight, world.name));
  if (setup.device.gpus != 1) check_several(request, world);
  if (const auto refused =
          needs.has(Capability::access) ? request.policy.refusal({}, setup.device) : std::nullopt)
    throw InputError(request.place, "policies." + request.label, refused->found, refused->expected);
  if (const std::string& name = setup.mechanism.entry().name; name != "ideal" && !(ranges && name == "slice"))
    throw InputError(origin, "mechanism", quote(name),
                     ranges ? "slice, or ideal" : "ideal: unmodified programs leave between submissions");
  if (ranges && setup.granting.forms.value_or(TakeForms::none) == TakeForms::none)
    throw InputError(
        request.grant, request.grant_path + ".forms", "none",
        fmt::format("worth, or all: in the world {} only kernels in forms have the slices that {} "
                    "launches",
                    world.name, request.label));
  if (setup.workload.jitter.arrival > Duration{})
    throw InputError(request.workload.origin, "workload.jitter.arrival",
                     to_text(setup.workload.jitter.arrival),
                     "none in the world " + world.name + ", or the world sim");
  // Elsewhere nobody needs it.
  for (std::size_t c = 0; c < setup.workload.clients.size(); ++c)
    if (const Client& client = setup.workload.clients[c];
        !std::filesystem::is_directory(client.command->folder))
      throw InputError(request.workload.of(c), "workload.clients." + client.name + ".command.folder",
                       "no folder " + client.command->folder, "a folder of this machine");
  for (std::size_t c = 0; c < setup.workload.clients.size(); ++c)
    if (setup.workload.clients[c].priority_to)
      throw InputError(
          request.workload.of(c), "workload.clients." + setup.workload.clients[c].name + ".priority",
          "one drawn for each job", "a number in the world " + world.name + ", where it is the program's");
  for (std::size_t c = 0; c < setup.workload.clients.size(); ++c)
    if (const Client& client = setup.workload.clients[c]; client.name.size() > kLongestName)
      throw InputError(request.workload.of(c), "workload.clients." + client.name,
                       fmt::format("a name of {} letters", client.name.size()),
                       fmt::format("at most {} letters in the world {}", kLongestName, world.name));
}

const Registration<WorldEntry> registered_live_world{WorldEntry{
    {"live", "real time: the clients' own programs, under a daemon, on the GPU of this machine", {}},
    {Capability::evict, Capability::ranges, Capability::memory, Capability::access, Capability::intercept,
     Capability::sampling, Capability::native},
    check_live,
    [](const WorldSetup& setup) -> std::unique_ptr<World> { return std::make_unique<LiveWorld>(setup); },
    true,
    gpu_here,
    false,
    true,
    [](const WorldSetup& setup, Workload& workload, const std::atomic<bool>& stop) {
      // What stands behind a kernel that has left can hold up the copies of a move
      // (hw/live/memory/README.md).
      if (setup.moves_memory && setup.takes_forms)
        throw InputError(Origin{"--world live", 0}, "grant.forms",
                         "kernels that leave, beside a policy that moves memory", "none");
      if (setup.moves_memory && setup.device.gpus != 1)
        throw InputError(Origin{"--world live", 0}, "device.gpus", fmt::format("{} GPUs", setup.device.gpus),
                         "1 beside a policy that moves memory");
      return session(setup).live.prepare(setup, workload, stop);
    }}};

}  // namespace
}  // namespace gangway

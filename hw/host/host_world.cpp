#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "hw/executor.hpp"
#include "hw/host/host_device.hpp"
#include "hw/real_time_refusals.hpp"

namespace gangway {
namespace {

// Cores share everything, so only what limits residency says anything: one block on each.
Device describe() {
  Device device;
  device.name = "host";
  device.sms = HostDevice::usual_workers();
  device.sm = {1024, 1, 65536, Bytes{1 << 20}};
  device.memory = Bytes{std::int64_t{1} << 32};
  device.h2d = device.d2h = {Bandwidth{1'000'000'000}, Duration{}};
  return device;
}

Machine machine() { return {fmt::format("{} CPU cores", std::thread::hardware_concurrency()), ""}; }

std::unique_ptr<RealDevice> make_device(const WorldSetup& setup) {
  const RealMechanismEntry& half = real_half(setup.mechanism, RealDevices::named("host", "world", "device"));
  auto mechanism = half.on_host(setup.mechanism.values());
  const unsigned workers = std::max(HostDevice::usual_workers(), mechanism->least_room());
  return std::make_unique<HostDevice>(setup.workload, workers, setup.input_seed, std::move(mechanism));
}

std::unique_ptr<World> make_world(const WorldSetup& setup) {
  check_kernels(setup);
  return std::make_unique<RealTimeWorld>(setup, make_device(setup));
}

constexpr const char* kSummary = "real time on CPU cores: persistent worker threads run the block-tasks";

const Registration<RealDeviceEntry> registered_host_device{RealDeviceEntry{
    {"host", kSummary, {}},
    PreemptionLevel::block_task,
    [](const RealMechanismEntry& mechanism) { return mechanism.on_host != nullptr; },
    [](const RealMechanismEntry& a, const RealMechanismEntry& b) { return a.on_host == b.on_host; },
    make_device,
    describe,
    machine}};
const Registration<WorldEntry> registered_host_world{WorldEntry{
    {"host", kSummary, {}}, RealTimeWorld::kCapabilities, check_real_time, make_world, true, machine}};

}  // namespace
}  // namespace gangway

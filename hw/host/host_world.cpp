#include <fmt/format.h>

#include <thread>

#include "hw/executor.hpp"
#include "hw/host/host_device.hpp"

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

std::unique_ptr<RealDevice> make(const WorldSetup& setup) {
  return std::make_unique<HostDevice>(setup.workload, HostDevice::usual_workers(), setup.input_seed);
}

constexpr const char* kSummary = "real time on CPU cores: persistent worker threads run the block-tasks";

const Registration<RealDeviceEntry> device{RealDeviceEntry{{"host", kSummary, {}}, make, describe, machine}};
const Registration<WorldEntry> world{WorldEntry{{"host", kSummary, {}},
                                                RealTimeWorld::kCapabilities,
                                                [](const WorldSetup& setup) -> std::unique_ptr<World> {
                                                  return std::make_unique<RealTimeWorld>(
                                                      setup, make(RealTimeWorld::checked(setup)));
                                                },
                                                true,
                                                machine,
                                                // A store does for both what a GPU needs a command for.
                                                [] {
                                                  return std::vector<std::string>{"flag-copy", "write-value"};
                                                }}};

}  // namespace
}  // namespace gangway

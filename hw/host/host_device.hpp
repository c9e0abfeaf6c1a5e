// CPU cores as a device; eviction is a store to shared memory. Uses the GPU's protocol, so the real-time path
// runs anywhere.
#pragma once

#include "hw/host/host_copies.hpp"
#include "hw/host/host_memory.hpp"
#include "hw/host/host_workers.hpp"

namespace gangway {

class HostDevice : public RealDevice {
 public:
  // `workers` >= 1 threads, each one persistent block. Kernels without code throttle for the workload's time.
  // Inputs are drawn from the seed. Throws RunError without memory.
  HostDevice(const Workload& workload, unsigned workers, std::uint64_t seed = 1,
             std::unique_ptr<HostMechanism> mechanism = std::make_unique<HostMechanism>())
      : mechanism_(std::move(mechanism)),
        memory_(workload, workers, mechanism_->polling(), seed),
        workers_(memory_, *mechanism_, workers) {}

  // One for each core except the scheduler's; at least one.
  static unsigned usual_workers();

  DeviceLaunches& launches() override { return workers_; }
  DeviceCopies& copies() override { return copies_; }
  KernelMemory& memory() override { return memory_; }
  DeviceProbes& probes() override { return workers_; }

  void relax() override;
  Duration warm_up() const override { return {}; }
  std::string fault() override { return {}; }
  bool settle(Duration limit) override;

 private:
  std::unique_ptr<HostMechanism> mechanism_;
  HostMemory memory_;
  HostCopies copies_;
  HostWorkers workers_;
};

}  // namespace gangway

// CPU cores as a device: the mechanism is a store to shared memory. The same protocol as on a GPU, so the
// real-time path is exercised anywhere.
#pragma once

#include "hw/host/host_copies.hpp"
#include "hw/host/host_memory.hpp"
#include "hw/host/host_workers.hpp"

namespace gangway {

class HostDevice : public RealDevice {
 public:
  // `workers` >= 1 threads: so many persistent blocks fit. Kernels without code throttle for as long as the
  // workload says, and every kernel's inputs are drawn from the seed. Throws RunError without memory.
  HostDevice(const Workload& workload, unsigned workers, std::uint64_t seed = 1,
             std::unique_ptr<HostMechanism> mechanism = std::make_unique<HostMechanism>())
      : mechanism_(std::move(mechanism)),
        memory_(workload, workers, mechanism_->polling(), seed),
        workers_(memory_, *mechanism_, workers) {}

  // One for every core but the scheduler's; at least one.
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

// A real device in parts: launches, copies, kernel memory, probes. The only interface used by the real-time
// executor and by calibration. One launch at a time. Unless stated otherwise, a call returns at once,
// allocates nothing, and throws RunError if the device fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/clock.hpp"
#include "hw/kernels/cuda_problem.hpp"
#include "hw/mechanisms/real_mechanism.hpp"
#include "hw/poll_probe.hpp"
#include "hw/sharing_probe.hpp"
#include "models/copy_direction.hpp"
#include "models/policy.hpp"
#include "models/world.hpp"

namespace gangway {

// A kernel, by client, of the workload.
struct KernelIndex {
  std::uint32_t client = 0, kernel = 0;
};

// Launches of kernels in preemptible form.
class DeviceLaunches {
 public:
  virtual ~DeviceLaunches() = default;
  // The last launch must be over and its pending work read. `range`: block-tasks of the original grid, below
  // kMostBlockTasks (hw/protocol.hpp).
  virtual void launch(KernelIndex kernel, BlockRange range) = 0;
  // Orders an eviction by the mechanism. No effect once the launch is gone.
  virtual void evict() = 0;
  virtual bool started() = 0;  // the first block runs
  virtual bool gone() = 0;     // the last block has ended
  // When that happened, on devices that share the scheduler's clock; valid after started() or gone().
  virtual std::optional<HostClock::Instant> began() { return std::nullopt; }
  virtual std::optional<HostClock::Instant> ended() { return std::nullopt; }
  // The pending-work command, once gone: requested, then known. Counts finished block-tasks of the kernel in
  // total.
  virtual void ask_pending_work() = 0;
  virtual std::optional<BlockCount> pending_work() = 0;
};

// Clients' data between host and device.
class DeviceCopies {
 public:
  virtual ~DeviceCopies() = default;
  // One copy at a time in each direction.
  virtual void copy(CopyDirection direction, Bytes size) = 0;
  virtual bool copied(CopyDirection direction) = 0;
};

// Inputs and outputs of kernels. For calibration and tests, while nothing runs.
class KernelMemory {
 public:
  virtual ~KernelMemory() = default;
  // Overwrites the kernel's outputs with values that no correct result has. Waits.
  virtual void poison(KernelIndex kernel) = 0;
  // Compares its outputs with the reference. Empty if equal, else the first difference. Waits and allocates.
  virtual std::string difference(KernelIndex kernel) = 0;
};

// Additional queries of calibration and tests.
class DeviceProbes {
 public:
  virtual ~DeviceProbes() = default;
  // Launches all of the original form. started() and gone() work as for launch(); there is no pending work
  // and no eviction.
  virtual void launch_original(KernelIndex kernel) = 0;
  // Makes later launches also record, on the device's clock, each block-task's duration (with slight
  // overhead) and how often it was carried out. Initially off. May wait and allocate.
  virtual void observe(bool on) = 0;
  struct Observed {
    std::vector<Duration> lengths;      // of block-tasks in the last launch; at most 100,000
    std::vector<std::uint32_t> counts;  // by block-task of the original grid: executions since observe(true)
  };
  // After gone. Waits and allocates.
  virtual Observed observed() = 0;
  // From the first claim, or an original form's first block, to the last block's end of the last launch, on
  // the device's clock.
  virtual Duration device_time() = 0;
  // SM resources of its forms; none without SMs.
  virtual std::optional<KernelForms> forms(KernelIndex) const { return std::nullopt; }
  // Persistent blocks in a launch of the whole kernel.
  virtual std::int64_t blocks(KernelIndex kernel) const = 0;
};

class RealDevice {
 public:
  virtual ~RealDevice() = default;

  // Always the same object, which lives as long as the device.
  virtual DeviceLaunches& launches() = 0;
  virtual DeviceCopies& copies() = 0;
  virtual KernelMemory& memory() = 0;
  virtual DeviceProbes& probes() = 0;

  // Called between fruitless polls: yields the core if the device needs it.
  virtual void relax() = 0;
  // How long the device must be busy to reach its usual speed (a GPU's clocks rise under load).
  virtual Duration warm_up() const = 0;
  // What is wrong with the device, such as a faulted kernel; empty if nothing. Slow, so called rarely.
  virtual std::string fault() = 0;
  // Cancels what can be cancelled (a copy, for example) and waits up to `limit` for the rest. If false,
  // something still runs: do not touch or destroy the object, because that could wait forever.
  virtual bool settle(Duration limit) = 0;
};

// Real devices register by name; the world of that name uses them.
struct RealDeviceEntry : Described {
  PreemptionLevel offers = PreemptionLevel::whole;  // and all coarser levels
  // Whether it supports the mechanism, and whether two supported ones are identical on it.
  bool (*has)(const RealMechanismEntry&) = nullptr;
  bool (*same)(const RealMechanismEntry&, const RealMechanismEntry&) = nullptr;
  // Throws InputError for what real_half() refuses (hw/real_time_refusals.hpp), RunError when the device
  // cannot be used.
  std::unique_ptr<RealDevice> (*make)(const WorldSetup&) = nullptr;
  // What is known of the device without measuring; all costs are zero. Throws RunError without a device.
  Device (*describe)() = nullptr;
  Machine (*machine)() = nullptr;
  // None: blocks and the scheduler share one memory. Throws RunError when the device cannot be used.
  std::unique_ptr<PollProbe> (*poll_probe)() = nullptr;
  // None: there are no contexts that share it. Throws RunError when the device cannot be used.
  std::unique_ptr<SharingProbe> (*sharing_probe)() = nullptr;
  // setup.device.gpus of them as one device, under mechanisms that do not evict. Throws as make(), and
  // InputError under other mechanisms. None: there can be only one.
  std::unique_ptr<RealDevice> (*make_several)(const WorldSetup&) = nullptr;
};
using RealDevices = Registry<RealDeviceEntry>;

}  // namespace gangway

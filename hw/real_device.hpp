// A real device in parts: launches, copies, the memory that kernels work on, probes. The real-time executor
// and calibration see a device through these alone. One launch is on the device at a time. Unless a comment
// says otherwise, a call returns at once, allocates nothing, and throws RunError where the device fails.
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

// Which kernel of which client of the workload.
struct KernelIndex {
  std::uint32_t client = 0, kernel = 0;
};

// Kernels in their preemptible form.
class DeviceLaunches {
 public:
  virtual ~DeviceLaunches() = default;
  // The last launch must be over (its pending work read). Block-tasks of the original grid; they are below
  // kMostBlockTasks (hw/protocol.hpp).
  virtual void launch(KernelIndex kernel, BlockRange range) = 0;
  // Orders the launch off the device by the mechanism. Without effect once it is gone.
  virtual void evict() = 0;
  virtual bool started() = 0;  // the first block runs
  virtual bool gone() = 0;     // the last block has ended
  // When that was, where the device shares the scheduler's clock; once started() and once gone().
  virtual std::optional<HostClock::Instant> began() { return std::nullopt; }
  virtual std::optional<HostClock::Instant> ended() { return std::nullopt; }
  // The pending-work command, once gone: asked, then known. Block-tasks of the kernel done in all.
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

// The inputs and outputs of the kernels. For calibration and tests, while nothing runs.
class KernelMemory {
 public:
  virtual ~KernelMemory() = default;
  // Overwrites the kernel's outputs with values that no right result has. Waits.
  virtual void poison(KernelIndex kernel) = 0;
  // Compares its outputs with the reference. Empty when they agree, else what differs first. Waits and
  // allocates.
  virtual std::string difference(KernelIndex kernel) = 0;
};

// What calibration and tests want to know of launches.
class DeviceProbes {
 public:
  virtual ~DeviceProbes() = default;
  // Launches the original form, all block-tasks; started() and gone() tell as for launch(), there is no
  // pending work, and it cannot be evicted.
  virtual void launch_original(KernelIndex kernel) = 0;
  // From now on launches also record, on the device's own clock, how long each block-task took (with a slight
  // overhead), and how often each was carried out. Off at first. May wait and allocate.
  virtual void observe(bool on) = 0;
  struct Observed {
    std::vector<Duration> lengths;  // of block-tasks carried out in the last launch; at most 100,000 of them
    std::vector<std::uint32_t> counts;  // by block-task of the original grid: how often, since observe(true)
  };
  // After gone. Waits and allocates.
  virtual Observed observed() = 0;
  // From the first block's start to the last block's end of the last launch, on the device's own clock.
  virtual Duration device_time() = 0;
  // What its forms take of an SM; none where there are no SMs.
  virtual std::optional<KernelForms> forms(KernelIndex) const { return std::nullopt; }
  // Persistent blocks of a launch of the whole kernel.
  virtual std::int64_t blocks(KernelIndex kernel) const = 0;
};

class RealDevice {
 public:
  virtual ~RealDevice() = default;

  // The same object in every call; it lives as long as the device.
  virtual DeviceLaunches& launches() = 0;
  virtual DeviceCopies& copies() = 0;
  virtual KernelMemory& memory() = 0;
  virtual DeviceProbes& probes() = 0;

  // Called between polls that found nothing: lets others have the core where the device needs it.
  virtual void relax() = 0;
  // How long the device has to be busy before its speed is the usual one (a GPU's clocks rise under load).
  virtual Duration warm_up() const = 0;
  // Empty, or what is wrong with the device (a kernel that faulted, say). Slow: asked now and then.
  virtual std::string fault() = 0;
  // Gives up what can be given up (a copy, say) and waits up to `limit` for the rest; false when it did not
  // end. After false the object must be left alone, destructor included: something still runs in it, and
  // waiting for that could take for ever.
  virtual bool settle(Duration limit) = 0;
};

// Real devices register themselves by name; the world of that name plays on them.
struct RealDeviceEntry : Described {
  PreemptionLevel offers = PreemptionLevel::whole;  // and all coarser ones
  // Whether it has the mechanism, and whether two that it has are one and the same on it.
  bool (*has)(const RealMechanismEntry&) = nullptr;
  bool (*same)(const RealMechanismEntry&, const RealMechanismEntry&) = nullptr;
  // Throws InputError for what real_half() refuses (hw/real_time_refusals.hpp), RunError when the device
  // cannot be used.
  std::unique_ptr<RealDevice> (*make)(const WorldSetup&) = nullptr;
  // What can be asked of the device without measuring; all costs are zero. Throws RunError without one.
  Device (*describe)() = nullptr;
  Machine (*machine)() = nullptr;
  // None: blocks have no other memory than the scheduler has. Throws RunError when the device cannot be used.
  std::unique_ptr<PollProbe> (*poll_probe)() = nullptr;
  // None: there are no contexts that share it. Throws RunError when the device cannot be used.
  std::unique_ptr<SharingProbe> (*sharing_probe)() = nullptr;
};
using RealDevices = Registry<RealDeviceEntry>;

}  // namespace gangway

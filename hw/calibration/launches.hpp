// Times of a kernel's launches in a schedule of the real-time executor: after another kernel; whole, evicted,
// or of the rest. Also the form in which files give them.
#pragma once

#include "hw/calibration/calibration.hpp"
#include "hw/real_device.hpp"

namespace gangway {

inline constexpr const char* kRestOfKernel = "rest of the kernel";  // each reading has its own parameter
inline constexpr const char* kOrderTooLate = "order that came too late";  // the launch completed the kernel

// A client whose kernel replaces another one's data in the caches. `copy`: bytes that it copies in and out.
Client another_kernel(const RealDeviceEntry& entry, std::int64_t copy);

// A workload of a client with only this kernel, which takes `time` in preemptible form, named as in readings,
// and of the other client, with the jobs that play_launches() plays.
Workload probed_kernel(const CalibrationPlan& plan, const std::string& name, const Kernel& kernel,
                       Duration time, Client other);

// Adds readings of such a workload's first client, whose launches take turns with the other's: some jobs run
// whole, each of the others is evicted at a moment of its time `transformed` (ns) and launched again. Throws
// RunError when the device fails or `stop` is set.
void play_launches(World& world, const CalibrationPlan& plan, const Workload& workload,
                   const std::string& mechanism, double transformed, Calibration& out,
                   const std::atomic<bool>& stop);
// Likewise, for kernel `number` of the client on the device.
void play_launches(const RealDeviceEntry& entry, const CalibrationPlan& plan, const Client& client,
                   std::uint32_t number, const std::string& mechanism, double transformed, Calibration& out,
                   const std::atomic<bool>& stop);

// A launch: its block-tasks, and how long it was seen to run.
struct SeenLaunch {
  double tasks = 0, ns = 0;
};
// An eviction: ns from when the first block was seen, and block-tasks that the launch completed.
struct SeenEviction {
  double ordered = 0, gone = 0, tasks = 0;
};
// What was seen of a kernel's launches after another kernel.
struct SeenLaunches {
  double tasks = 0, time = 0;         // of the whole kernel, alone, in ns
  double blocks = 0;                  // persistent ones
  std::vector<double> command;        // ns to the first block
  std::vector<double> pending_work;   // ns to read it
  std::vector<double> after_another;  // ns of whole launches
  std::vector<SeenLaunch> rests;
  std::vector<SeenEviction> evictions;
  std::vector<double> late;  // ns from the first block to orders that evicted nothing
  double slower = 0;         // share by which jobs took longer for a while; all times above are without it
};
// Needs at least one command.
MeasuredLaunches described(const SeenLaunches& seen);

// For evictions sorted by the time of their orders: how many neighbours best predict how long another one
// takes and how much is done, by leaving each out in turn.
std::int64_t best_neighbours(const std::vector<MeasuredEviction>& evictions);

// The time that best parts the orders that evicted from those that came too late, which are later; all in ns
// from the first block. There must be orders.
double latest_order(const std::vector<SeenEviction>& evictions, const std::vector<double>& late);

// The readings of a kernel that play_launches() added, and its median time `transformed`.
SeenLaunches seen_launches(const Calibration& c, const std::string& mechanism, const std::string& name,
                           const Kernel& kernel);

}  // namespace gangway

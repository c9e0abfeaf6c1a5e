// What launches of a kernel take in a schedule: behind another kernel, whole, evicted, or of a rest, as the
// real-time executor has them; and the form in which files say so.
#pragma once

#include "hw/calibration/calibration.hpp"
#include "hw/real_device.hpp"

namespace gangway {

inline constexpr const char* kRestOfKernel = "rest of the kernel";  // each reading has its own parameter

// A client whose kernel leaves nothing of another one's in the caches; copies of so many bytes.
Client another_kernel(const RealDeviceEntry& entry, std::int64_t copy);

// A client with only this kernel, as readings call it, and the other one, with the jobs that play_launches()
// plays.
Workload probed_kernel(const CalibrationPlan& plan, const std::string& name, const Kernel& kernel,
                       Client other);

// Jobs of the first client of such a workload, which the world plays, in turns with the other: some whole,
// each other one evicted at a moment of `transformed` ns and launched again. Throws RunError when the device
// fails or `stop` is set.
void play_launches(World& world, const CalibrationPlan& plan, const Workload& workload,
                   const std::string& mechanism, double transformed, Calibration& out,
                   const std::atomic<bool>& stop);
// Likewise, of the client's kernel of that number on the device.
void play_launches(const RealDeviceEntry& entry, const CalibrationPlan& plan, const Client& client,
                   std::uint32_t number, const std::string& mechanism, double transformed, Calibration& out,
                   const std::atomic<bool>& stop);

// A launch of so many block-tasks, as long as it was seen to run.
struct SeenLaunch {
  double tasks = 0, ns = 0;
};
// An eviction; in ns from the first block seen, and block-tasks of the launch.
struct SeenEviction {
  double ordered = 0, gone = 0, tasks = 0;
};
// What was seen of a kernel, behind another one.
struct SeenLaunches {
  double tasks = 0, time = 0;         // of the whole kernel, alone, in ns
  double blocks = 0;                  // that persist
  std::vector<double> command;        // ns to the first block
  std::vector<double> pending_work;   // ns to read it
  std::vector<double> after_another;  // ns of whole launches
  std::vector<SeenLaunch> rests;
  std::vector<SeenEviction> evictions;
};
// Needs at least one command.
MeasuredLaunches described(const SeenLaunches& seen);

// Of the evictions, by the time of their orders: how many neighbours say best how long another one at that
// time takes and how much is done, by leaving each out in turn.
std::int64_t best_neighbours(const std::vector<MeasuredEviction>& evictions);

// The readings that were left of a kernel.
SeenLaunches seen_launches(const Calibration& c, const std::string& mechanism, const std::string& name,
                           const Kernel& kernel);

}  // namespace gangway

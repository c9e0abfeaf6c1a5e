// What single launches of a kernel take where another kernel was on the device before, as in every schedule;
// and what they were found to take, in the form that files have.
#pragma once

#include "hw/calibration/bench.hpp"

namespace gangway {

// The other client of a kernel's bench: its kernel leaves nothing of the first one's in the caches.
inline constexpr KernelIndex kAnother{1, 0};
inline constexpr const char* kRestOfKernel = "rest of the kernel";  // each reading has its own parameter
Client another_kernel(const RealDeviceEntry& entry, std::int64_t copy);

// Whole launches behind another kernel's, and behind the same one's.
void measure_after_another(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
// Launches of the rest of a kernel, of any size.
void measure_rests(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
// Evictions at moments that cover the whole of `transformed` ns.
void measure_evictions(Bench& bench, const CalibrationPlan& plan, KernelIndex k, double transformed);
// Whole launches while a copy is under way.
void measure_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k);

// A launch of so many block-tasks, as long as it was seen to run.
struct SeenLaunch {
  double tasks = 0, ns = 0;
};
// An eviction; in ns from the first block seen, and block-tasks.
struct SeenEviction {
  double ordered = 0, gone = 0, tasks = 0;
};
// What was seen of a kernel.
struct SeenLaunches {
  double tasks = 0, time = 0;         // of the whole kernel, alone, in ns
  double blocks = 0;                  // that persist
  std::vector<double> command;        // ns to the first block, behind another kernel
  std::vector<double> pending_work;   // ns to read it
  std::vector<double> after_another;  // ns of whole launches
  std::vector<SeenLaunch> rests;      // behind another kernel
  std::vector<SeenEviction> evictions;
};
// Needs at least one of each of the first two.
MeasuredLaunches described(const SeenLaunches& seen);

// Of the evictions, by the time of their orders: how many neighbours say best how long another one at that
// time takes and how much is done, by leaving each out in turn.
std::int64_t best_neighbours(const std::vector<MeasuredEviction>& evictions);

// The readings that the functions above left of a kernel.
SeenLaunches seen_launches(const Calibration& c, const std::string& mechanism, const std::string& name,
                           const Kernel& kernel);

}  // namespace gangway

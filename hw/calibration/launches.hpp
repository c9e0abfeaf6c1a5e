// Measures single launches of a kernel after another kernel's launch, as in every schedule, and describes
// them in the form of workload files.
#pragma once

#include "hw/calibration/bench.hpp"

namespace gangway {

// The second client of a kernel's bench, whose kernel evicts the first one's data from the caches.
inline constexpr KernelIndex kAnother{1, 0};
inline constexpr const char* kRestOfKernel = "rest of the kernel";  // one parameter value per reading
Client another_kernel(const RealDeviceEntry& entry, std::int64_t copy);

// Measures whole launches after another kernel's launch, and after one of the same kernel.
void measure_after_another(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
// Measures launches of the rest of a kernel, of any size.
void measure_rests(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
// Measures evictions at moments spread over `transformed` ns.
void measure_evictions(Bench& bench, const CalibrationPlan& plan, KernelIndex k, double transformed);
// Measures whole launches during a copy.
void measure_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k);

// Block-tasks of a launch, and its observed duration.
struct SeenLaunch {
  double tasks = 0, ns = 0;
};
// An eviction: order and end in ns from the first block's start, and block-tasks done.
struct SeenEviction {
  double ordered = 0, gone = 0, tasks = 0;
};
// Observations of one kernel.
struct SeenLaunches {
  double tasks = 0, time = 0;         // of the whole kernel alone; time in ns
  double blocks = 0;                  // persistent blocks
  std::vector<double> command;        // ns from the command to the first block, after another kernel
  std::vector<double> pending_work;   // ns to read the pending work
  std::vector<double> after_another;  // ns of whole launches after another kernel
  std::vector<SeenLaunch> rests;      // after another kernel
  std::vector<SeenEviction> evictions;
};
// Needs at least one `command`.
MeasuredLaunches described(const SeenLaunches& seen);

// Number of neighbours, by time of the order, whose mean best predicts an eviction's duration and completed
// work (leave-one-out cross-validation).
std::int64_t best_neighbours(const std::vector<MeasuredEviction>& evictions);

// The kernel's readings from the functions above.
SeenLaunches seen_launches(const Calibration& c, const std::string& mechanism, const std::string& name,
                           const Kernel& kernel);

}  // namespace gangway

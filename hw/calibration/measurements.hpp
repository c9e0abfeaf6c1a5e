// Measurements on a bench, which add readings to its calibration. RunError if the device fails, or the
// scheduler's core is too busy.
#pragma once

#include "hw/calibration/bench.hpp"

namespace gangway {

constexpr std::size_t kFewestReadings = 10;                    // of any quantity
constexpr const char* kLaunchAfterIdle = "launch after idle";  // each idle time has its own parameter
constexpr const char* kBlocksInARow = "blocks in a row";
constexpr Duration kShortTask{10'000};  // block-tasks too short for persistent blocks to run in step

void warm_up(Bench& bench, Duration length);
// How long the device is left idle after a kernel that took so long. A kernel that runs again and again can
// take longer than one among others (README.md, "Rest").
Duration rest_after(Duration kernel);

// Measurements of one kernel alone.
void describe_forms(Bench& bench, Calibration& c, std::size_t client, std::uint32_t number);
void measure_times(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
void measure_block_tasks(Bench& bench, KernelIndex k);

// Whole launches during a copy; the bench's last client has memory for it.
void measure_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k);

// Measurements of the device, with throttle kernels.
void measure_commands(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
// The original form of a throttle kernel: its time, whole.
void measure_blocks_in_a_row(Bench& bench, KernelIndex k);
// Launches after the device had nothing to do for each of the plan's times.
void measure_after_idle(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
// Evicts at random moments, and times the order to the next launch's first block. For block-tasks that blocks
// do not run in step, also these times less the longest block-task.
void measure_switches(Bench& bench, const CalibrationPlan& plan, KernelIndex k, Duration length);
void measure_copies(Bench& bench, const CalibrationPlan& plan, const char* quantity, CopyDirection direction);
// Copies while a longer copy goes the other way, and commands during a copy.
void measure_copies_both_ways(Bench& bench, const CalibrationPlan& plan);
void measure_commands_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k);

}  // namespace gangway

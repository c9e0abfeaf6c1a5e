// What is measured on a bench; readings go to its calibration. RunError where the device fails, or the
// scheduler's core is too busy with other things.
#pragma once

#include "hw/calibration/bench.hpp"

namespace gangway {

constexpr std::size_t kFewestReadings = 10;  // of anything
constexpr Duration kShortTask{10'000};       // block-tasks that persistent blocks do not do in step

void warm_up(Bench& bench, Duration length);

// Of a kernel alone.
void describe_forms(Bench& bench, Calibration& c, std::size_t client, std::uint32_t number);
void measure_times(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
void measure_block_tasks(Bench& bench, KernelIndex k);

// Whole launches while a copy is under way, which the bench's last client has memory for.
void measure_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k);

// Of the device, by throttle kernels.
void measure_commands(Bench& bench, const CalibrationPlan& plan, KernelIndex k);
// Evictions at random moments, and from each order on to the first block of the next launch. For block-tasks
// that blocks do not do in step, both also less the longest block-task that such launches do.
void measure_switches(Bench& bench, const CalibrationPlan& plan, KernelIndex k, Duration length);
void measure_copies(Bench& bench, const CalibrationPlan& plan, const char* quantity, CopyDirection direction);
// Copies while a longer one goes the other way; and commands while a copy is under way.
void measure_copies_both_ways(Bench& bench, const CalibrationPlan& plan);
void measure_commands_beside_copies(Bench& bench, const CalibrationPlan& plan, KernelIndex k);

}  // namespace gangway

// Costs of reading an eviction flag (PollCosts in models/device.hpp), measured by a device's probe and fitted
// as lines.
#pragma once

#include <atomic>
#include <functional>

#include "hw/calibration/calibration.hpp"
#include "hw/poll_probe.hpp"

namespace gangway {

// Adds readings of
//   host poll            ns for one read by each of `parameter` blocks at once; of 1: what a read alone takes
//   work without claims  ns for `parameter` pieces of work by each block
//   claimed work         ns for the same pieces, with a claim after each
//   work with looks      ns for the same pieces, with a look at a proxy's copy of the flag before each claim
//   claims beside work, looks beside claims   the differences
// until there are plan.polls of each. out.device.sms must be known. Throws RunError when the probe fails or
// `stop` is set.
void measure_polls(PollProbe& probe, const CalibrationPlan& plan, Calibration& out,
                   const std::atomic<bool>& stop);

// Computes, from these readings, out.device.polls and the lines `host poll` over blocks (at least as many as
// SMs), `claim` and `device poll` over pieces. The slopes are the costs; fixed costs of a launch and a read
// are in the intercepts. 0 if a slope is not positive. polls.proxy is the median of what evictions under
// `proxy` took beside the shortest block-tasks, if such were measured. Throws std::invalid_argument if there
// are too few readings for a line.
void fit_polls(Calibration& out);

}  // namespace gangway

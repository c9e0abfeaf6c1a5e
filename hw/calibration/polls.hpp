// What reading an eviction flag costs (PollCosts in models/device.hpp): measured by a device's probe, fitted
// as lines.
#pragma once

#include <atomic>
#include <functional>

#include "hw/calibration/calibration.hpp"
#include "hw/poll_probe.hpp"

namespace gangway {

// Adds readings of
//   host poll            ns for one read by each of `parameter` blocks at once; of 1: what a read alone takes
//   polled work          ns for `parameter` pieces of work by each block, with a look at the flag after each
//   work without polls   ns for the same pieces without
//   polls beside work    their difference
// until there are plan.polls of each. out.device.sms must be known. Throws RunError when the probe fails or
// `stop` is set.
void measure_polls(PollProbe& probe, const CalibrationPlan& plan, Calibration& out,
                   const std::atomic<bool>& stop);

// From these readings, out.device.polls and the lines `host poll` over blocks (as many as SMs or more) and
// `device poll` over pieces: the slopes are the costs, since what a launch and a read cost once is in the
// intercepts. 0 where a slope is not positive. Throws std::invalid_argument when there are too few readings
// for a line.
void fit_polls(Calibration& out);

}  // namespace gangway

// How a device shares its time between contexts of two processes (TimeSlice in models/device.hpp; the rules
// it is about are TS1 to TS9 of sim/recorded/README.md).
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "hw/calibration/calibration.hpp"
#include "hw/sharing_probe.hpp"

namespace gangway {

// Two contexts of a device, in processes of their own.
class TwoContexts {
 public:
  virtual ~TwoContexts() = default;
  // Both do their work, from about the same instant on. Waits. Throws RunError.
  virtual std::array<std::vector<ProbeStay>, 2> run(const std::array<ProbeWork, 2>& work) = 0;
};

// Adds readings, all in ns, of
//   context slice           how long a context kept the device that both wanted
//   context stop to resume  from the last instant of one context to the first of the next, where a kernel was
//                           stopped, and one that had been stopped went on
//   context stop to begin   the same, where the next kernel was new; `end to resume` and `end to begin` alike
//   context turn            how long a context with kernels queued kept the device until it was stopped for
//   one
//                           that came now and then
//   context gap             the times between kernels in which a context lost the device to nobody, though
//                           another one waited for it
// Throws RunError where contexts do not take turns, as under MPS, and when `stop` is set.
void measure_time_slices(TwoContexts& contexts, Calibration& out, const std::atomic<bool>& stop);

// From these readings, out.device.time_slice. Throws RunError where there are too few.
void fit_time_slices(Calibration& out);

// The share of the time in which both had a kernel on the device, of the time from the later one's first
// instant to the earlier one's last: 0 where they took turns, 1 where they never did.
double time_together(const std::array<std::vector<ProbeStay>, 2>& stays);

}  // namespace gangway

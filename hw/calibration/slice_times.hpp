// How a device shares its time between two processes' contexts (TimeSlice in models/device.hpp; rules TS1 to
// TS9 of sim/recorded/README.md).
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "hw/calibration/calibration.hpp"
#include "hw/sharing_probe.hpp"

namespace gangway {

// Two contexts of a device, in separate processes.
class TwoContexts {
 public:
  virtual ~TwoContexts() = default;
  // Both do their work, starting at about the same time. Waits. Throws RunError.
  virtual std::array<std::vector<ProbeStay>, 2> run(const std::array<ProbeWork, 2>& work) = 0;
};

// Adds readings, all in ns, of
//   context slice           how long a context kept the device that both wanted
//   context stop to resume  from the last instant of one context to the first of the next, where a kernel was
//                           stopped, and one that had been stopped went on
//   context stop to begin   the same, where the next kernel was new; `end to resume` and `end to begin` alike
//   full context stop to resume, context stop to full resume
//                           likewise, where the kernel of one of them fills the device
//   context turn            how long a context with kernels queued kept the device until it was stopped for
//                           one whose kernels came now and then
//   context gap             the times between kernels in which a context kept the device although another
//                           one waited for it
// Throws RunError where contexts do not take turns, as under MPS, and when `stop` is set.
void measure_time_slices(TwoContexts& contexts, Calibration& out, const std::atomic<bool>& stop);

// From these readings, out.device.time_slice. Throws RunError where there are too few.
void fit_time_slices(Calibration& out);

// Share of the time, from the later context's first instant to the earlier one's last, in which both had a
// kernel on the device: 0 if they took turns, 1 if they never did.
double time_together(const std::array<std::vector<ProbeStay>, 2>& stays);

}  // namespace gangway

// Turns what a device recorded of a run of native clients into the trace.
#pragma once

#include "hw/native/plan.hpp"

namespace gangway {

// A copy's beginning is not told by the device: it is taken for the moment at which it was issued, everything
// before it in its stream was over and the copy before it in its direction had ended, whichever was last.
void build_trace(const NativePlan& plan, const NativeMeasurement& measured, Time horizon, TraceSink& trace);

}  // namespace gangway

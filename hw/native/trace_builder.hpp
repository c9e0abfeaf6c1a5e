// Turns a device's record of native clients' run into the trace.
#pragma once

#include "hw/native/plan.hpp"

namespace gangway {

// The device does not report when a copy begins. It is taken as the latest of: its issue, the end of
// everything before it in its stream, and the end of the previous copy in its direction.
void build_trace(const NativePlan& plan, const NativeMeasurement& measured, Time horizon, TraceSink& trace);

}  // namespace gangway

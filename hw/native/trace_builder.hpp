// Turns what a device recorded of a run of native clients into the trace.
#pragma once

#include <span>
#include <vector>

#include "hw/native/plan.hpp"

namespace gangway {

// One block, by the clock of the run.
struct BlockStamp {
  Time began, ended;
  std::uint32_t sm = 0;
};

// Of one run; by operation of the plan where nothing else is said.
struct NativeMeasurement {
  std::vector<Time> issued;        // just before the call
  std::vector<Time> copied;        // by copy: its end
  std::vector<BlockStamp> blocks;  // by launch, then block
  std::size_t operations = 0;      // so many have been issued (fewer than planned when the run was stopped)
  std::size_t releases = 0;        // likewise
  Duration uncertainty;            // of the device's times
};

// A copy's beginning is not told by the device: it is taken for the moment at which it was issued, everything
// before it in its stream was over and the copy before it in its direction had ended, whichever was last.
void build_trace(const NativePlan& plan, const NativeMeasurement& measured, Time horizon, TraceSink& trace);

}  // namespace gangway

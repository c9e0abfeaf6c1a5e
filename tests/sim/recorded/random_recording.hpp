// Random small recordings whose programs share a GPU.
#pragma once

#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {

// Up to three programs with so many threads each, or fewer, streams of every kind, kernels, copies and
// events, in jobs of a few us; at their own pace or not, on a GPU with time slices or MPS.
void draw_recorded(std::uint64_t number, RecordedScenario& scenario, std::uint64_t threads = 2);

}  // namespace gangway::testing

// How a launch is played: which block and which thread goes on.
#pragma once

#include "tests/ptx/interpreter/machine.hpp"

namespace gangway::testing::ptx {

// The machine is ready for the launch; `entry` is what its threads carry out.
Outcome played(Machine& m, const Code& entry);

}  // namespace gangway::testing::ptx

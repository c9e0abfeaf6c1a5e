// Random clients with state in device memory, and random settings of the policy that moves it.
#pragma once

#include "tests/scenario.hpp"

namespace gangway::testing {

// On a device that holds the largest state and not always all of them.
Scenario random_memory(std::uint64_t number);
// The same on one to four GPUs, some variables with maps.
Scenario random_gpus(std::uint64_t number);
// `microkernel-rr`, as a file would give it.
std::string random_microkernels(std::uint64_t number);

}  // namespace gangway::testing

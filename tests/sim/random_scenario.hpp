// Random small scenarios: ties on purpose, one or several kernels, copies, repeats, coarse and fine
// block-tasks.
#pragma once

#include "tests/scenario.hpp"

namespace gangway::testing {

struct Variety {
  bool copies = true, several_kernels = true, repeats = true, coarse = true;
};
Scenario random_scenario(std::uint64_t number, const Variety& variety = {});
// The same on two GPUs or four, of which half of the clients may use only some.
Scenario random_owners(std::uint64_t number);

// Every policy with its variants, quanta as short as the scenarios' kernels.
const std::vector<std::string>& all_policies();

}  // namespace gangway::testing

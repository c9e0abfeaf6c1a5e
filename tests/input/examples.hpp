// Inputs that are right: every example on a page and every file in the repository.
#pragma once

#include <string>
#include <vector>

namespace gangway::testing {

// The page's experiment with its workload and device written out: nearly every key there is.
std::string whole_example();

// All of them, in the same order on every machine.
const std::vector<std::string>& right_inputs();

}  // namespace gangway::testing

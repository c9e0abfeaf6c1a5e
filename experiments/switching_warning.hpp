// Whether launches and evictions take so much of a run that its results say more of them than of the policy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/experiment.hpp"
#include "experiments/group.hpp"

namespace gangway {

// More than this of the time without blocks on a GPU that a launch owns is worth a warning.
inline constexpr double kMuchSwitching = 0.1;

// One line that names the cell with the greatest share, and what to try. `rows`: of all points, and of their
// policies in order.
std::optional<std::string> switching_warning(const Experiment& experiment,
                                             const std::vector<GroupRows>& rows);

}  // namespace gangway

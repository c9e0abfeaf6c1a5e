// Listings for programs: what exists, and what a recording contains.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/recording/recording.hpp"

namespace gangway {

// The kinds that can be listed.
const std::vector<std::string>& listed_kinds();

// Registered entries of the kind `what` (policies, mechanisms, generators, kernels, bounds, arrivals,
// utilisations, worlds, profilers): a list of {name, summary, parameters: [{name, default, range, summary}]};
// data files (devices, workloads, experiments): a list of {name, path}; or metrics: as metrics_json().
// InputError as library().
nlohmann::ordered_json listed(const std::string& what);

// Times in ns, memory in bytes. Kernel names are as recorded, byte for byte.
nlohmann::ordered_json summary_json(const recording::Recording& recording);

}  // namespace gangway

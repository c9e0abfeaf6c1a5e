// What there is, and what is in a recording, for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/recording/recording.hpp"

namespace gangway {

// Of which kinds there is something: what may be listed.
const std::vector<std::string>& listed_kinds();

// What is registered as `what` (policies, mechanisms, generators, kernels, bounds, arrivals, utilisations,
// worlds, profilers): a list of {name, summary, parameters: [{name, default, range, summary}]}; or files that
// come with Gangway (devices, workloads, experiments): a list of {name, path}. InputError as library().
nlohmann::ordered_json listed(const std::string& what);

// Times in ns, memory in bytes. Names of kernels are as they were recorded, whatever bytes they have.
nlohmann::ordered_json summary_json(const recording::Recording& recording);

}  // namespace gangway

// Values that --set gives.
#pragma once

#include <string>
#include <vector>

#include "cli/named_values.hpp"
#include "experiments/sweeps/configuration.hpp"

namespace gangway {

// `sets`: each PATH=VALUE. Throws InputError.
inline std::vector<Override> overrides_of(const std::vector<std::string>& sets) {
  std::vector<Override> all;
  for (const auto& [path, value] : named_values("--set", sets, "path", "a path"))
    all.push_back({path, value, "--set"});
  return all;
}

}  // namespace gangway

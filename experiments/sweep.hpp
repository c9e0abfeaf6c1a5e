// Sweeps: which values a parameter takes, and all combinations.
#pragma once

#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

struct SweptPath {
  std::string path;
  std::vector<Node> values;
};

// Reads `sweep:`, a mapping from paths to lists or ranges ({from, to, step | factor}). At most 10,000 values
// a path and 100,000 combinations in all. Throws InputError.
std::vector<SweptPath> read_sweep(const Field& field);

// Every combination, as one index per path; the last path varies fastest. One empty combination when nothing
// is swept.
std::vector<std::vector<std::size_t>> combinations(const std::vector<SweptPath>& sweep);

// How a swept value stands in result files.
std::string text_of(const Node& value);

}  // namespace gangway

// Sweeps: which values a parameter takes, and all combinations.
#pragma once

#include <functional>
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

// How a swept value stands in result files.
std::string text_of(const Node& value);

// Calls point(root as changed, values as text) for every combination; the last path varies fastest. One, with
// the root as it is, when nothing is swept.
void for_each_point(const Node& root, const std::vector<SweptPath>& sweep,
                    const std::function<void(const Node&, std::vector<std::string>)>& point);

}  // namespace gangway

// The input of `gangway run` before interpretation: located, read, overridden, identified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/sweeps/sweep.hpp"
#include "models/input/field.hpp"

namespace gangway {

struct Override {
  std::string path, value;
  std::string option = "--set";  // that gives it, for errors
};

struct Configuration {
  Node root;                     // a mapping
  std::filesystem::path folder;  // base of relative paths
  std::string kind;              // experiment or study; empty if not given
};

// Reads a file, a library entry by name, or a result manifest under any name, which contains the resolved
// mapping. Throws InputError, also for an unsupported manifest version.
Configuration read_configuration(const std::string& given);

// The value for `root`, parsed as YAML. Throws InputError.
Node value_of(const Override& change, const Node& root);

// Sets the value at its path. Throws InputError.
void apply(Node& root, const Override& change);

std::uint64_t read_seed(const Field& field);  // throws InputError

// Throws InputError if an override is of a path that the sweep varies: it would have no effect.
void refuse_swept(const Sweep& sweep, const std::vector<Override>& overrides);

// A hash of a resolved configuration.
std::string identity_of(const std::string& configuration);

}  // namespace gangway

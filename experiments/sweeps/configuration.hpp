// The files that `gangway run` is given, before they are interpreted: found, read, overridden, identified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

inline const Origin kCommandLine{"--set", 0};  // where overrides stand

struct Override {
  std::string path, value;
};

struct Configuration {
  Node root;                     // a mapping
  std::filesystem::path folder;  // that paths in it start from
  std::string kind;              // experiment, study; empty where it does not say
};

// Reads a file, one that comes with Gangway by its name, or the manifest of a result folder, under whatever
// name, which keeps the resolved mapping. Throws InputError, also for a manifest of another version of its
// format.
Configuration read_configuration(const std::string& given);

// The value, which is YAML. Throws InputError.
Node value_of(const Override& change);

// Puts the value at its path. Throws InputError.
void apply(Node& root, const Override& change);

std::uint64_t read_seed(const Field& field);  // throws InputError

// Throws InputError where a seed is given on the command line and the sweep has others.
void refuse_swept_seed(bool swept, const std::vector<Override>& overrides);

// A hash of a resolved configuration.
std::string identity_of(const std::string& configuration);

}  // namespace gangway

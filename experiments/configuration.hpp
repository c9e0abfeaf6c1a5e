// The files that `gangway run` is given, before they are interpreted: found, read, overridden, identified.
#pragma once

#include <filesystem>
#include <string>

#include "models/input/field.hpp"

namespace gangway {

struct Override {
  std::string path, value;
};

struct Configuration {
  Node root;                     // a mapping
  std::filesystem::path folder;  // that paths in it start from
  std::string kind;              // experiment, study; empty where it does not say
};

// Reads a file, one that comes with Gangway by its name, or the manifest.json of a result folder, which keeps
// the resolved mapping. Throws InputError.
Configuration read_configuration(const std::string& given);

// Puts the value, which is YAML, at its path. Throws InputError.
void apply(Node& root, const Override& change);

// A hash of a resolved configuration.
std::string identity_of(const std::string& configuration);

}  // namespace gangway

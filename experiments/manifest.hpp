// What a result folder says about itself.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

struct Manifest {
  std::string experiment, world;
  std::string identity;  // of the configuration
  std::string key;       // configuration, world and build
  bool has_jobs = true;  // the experiment wanted jobs.csv
};

// Reads manifest.json. Throws InputError where `folder` is none that `gangway run` finished.
Manifest read_manifest(const std::filesystem::path& folder);

}  // namespace gangway

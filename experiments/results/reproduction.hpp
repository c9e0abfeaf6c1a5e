// Checks whether rerunning a manifest gave the same results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/results/manifest.hpp"

namespace gangway {

// A manifest to be rerun.
struct KeptRun {
  std::filesystem::path file;
  Manifest manifest;
};

// The manifest given to `gangway run`; none if that is another file or a name. InputError for an unsupported
// format version.
std::optional<KeptRun> read_kept_run(const std::string& given);

struct Reproduction {
  bool other_configuration = false;    // it was changed or edited, so files cannot be compared
  bool other_program = false;          // by its hash
  std::vector<std::string> same;       // files whose bytes match the manifest
  std::vector<std::string> different;  // files whose bytes differ
  std::vector<std::string> missing;    // listed files that were not made
  std::vector<std::string> damaged;    // files beside the manifest that differ from its list

  bool holds() const { return !other_configuration && different.empty() && missing.empty() && !same.empty(); }
};

// Compares the finished folder `out` with the manifest; timelines only if both have them. InputError if `out`
// is not finished.
Reproduction reproduction_of(const KeptRun& kept, const std::filesystem::path& out);

// Lines for people: what is equal, what differs, and possible causes.
std::vector<std::string> described(const Reproduction& reproduction, const KeptRun& kept);

}  // namespace gangway

// Whether a manifest that was run again came to the same results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/results/manifest.hpp"

namespace gangway {

// A manifest that is run again.
struct KeptRun {
  std::filesystem::path file;
  Manifest manifest;
};

// What `gangway run` was given, where it is a manifest of results; none where it is another file, or a name.
// InputError for a manifest of another version of the format.
std::optional<KeptRun> read_kept_run(const std::string& given);

struct Reproduction {
  bool other_configuration = false;    // it was changed or edited, so that files say nothing
  bool other_program = false;          // by its hash
  std::vector<std::string> same;       // files with the bytes that the manifest lists
  std::vector<std::string> different;  // others
  std::vector<std::string> missing;    // that it lists and were not made
  std::vector<std::string> damaged;    // that lie beside the manifest and are not what it lists

  bool holds() const { return !other_configuration && different.empty() && missing.empty() && !same.empty(); }
};

// What is in the finished folder `out`, against the manifest; timelines count where both have them.
// InputError where `out` is no finished folder.
Reproduction reproduction_of(const KeptRun& kept, const std::filesystem::path& out);

// For people, a line each: what is the same, what is not, and what may be why.
std::vector<std::string> described(const Reproduction& reproduction, const KeptRun& kept);

}  // namespace gangway

// Data files named by an experiment's workloads: resolved and identified by content.
#pragma once

#include <filesystem>

#include "models/input/document.hpp"

namespace gangway {

// Replaces each data file name in a resolved experiment, swept ones too, by {path, sha256}: the absolute path
// and its present content. Names are relative to the file that contains them, else to `folder`. Throws
// InputError if a file is unreadable.
void resolve_data_files(Node& root, const std::filesystem::path& folder);

// The configuration without data file paths, so that it does not depend on their place.
Node without_data_paths(const Node& root);

}  // namespace gangway

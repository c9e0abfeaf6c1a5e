// Files of data that an experiment's workloads name: found, and known by their content.
#pragma once

#include <filesystem>

#include "models/input/document.hpp"

namespace gangway {

// Makes each name of a data file in a resolved experiment, swept ones as well, {path, sha256}: an absolute
// path, and what the file holds now. A name is seen from the folder of the file in which it stands, or from
// `folder` where it stands in none. Throws InputError for a file that cannot be read.
void resolve_data_files(Node& root, const std::filesystem::path& folder);

// The same configuration wherever its data files lie: without their paths.
Node without_data_paths(const Node& root);

}  // namespace gangway

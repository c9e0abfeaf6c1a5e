// Data files named by YAML files, such as request times. Results depend on their content, so a resolved
// configuration includes their SHA-256.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "models/input/field.hpp"

namespace gangway {

struct DataFile {
  std::filesystem::path path;
  std::optional<std::string> sha256;  // required hash of the content, lower-case hexadecimal
};

// Reads `trace.csv`, relative to the naming file, or {path, sha256}. Throws InputError.
DataFile read_data_file(const Field& field);

// The whole content. Throws InputError, at `field`, if the file is unreadable or its SHA-256 differs.
std::string content_of(const DataFile& file, const Field& field);

}  // namespace gangway

// Files of data that a YAML file names, such as times of requests. What they hold decides results as much as
// the YAML does, so a resolved configuration says their SHA-256, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "models/input/field.hpp"

namespace gangway {

struct DataFile {
  std::filesystem::path path;
  std::optional<std::string> sha256;  // that its content must have, in lower-case hexadecimal digits
};

// `trace.csv`, seen from the folder of the file in which that stands, or {path, sha256}. Throws InputError.
DataFile read_data_file(const Field& field);

// All of it. Throws InputError, at `field`, when the file cannot be read or its SHA-256 is another one.
std::string content_of(const DataFile& file, const Field& field);

}  // namespace gangway

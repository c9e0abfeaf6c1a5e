// Columns of swept values in result files.
#pragma once

#include <string>

namespace gangway {

// Whether a column is the one before it in base units: PATH, and behind it PATH_ns, PATH_bytes,
// PATH_bytes_per_second, PATH_per_second or PATH_share.
bool repeats_in_base_units(const std::string& before, const std::string& column);

}  // namespace gangway

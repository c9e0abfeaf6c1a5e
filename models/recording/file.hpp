// Recordings as files (README.md).
#pragma once

#include <filesystem>

#include "models/recording/recording.hpp"

namespace gangway::recording {

// A recording may have been compressed with gzip: all that reads one reads it as it is.

// Whether a file begins as recordings do, sound or not.
bool is_recording(const std::filesystem::path& file);

// Writes it under a name that appears when all is written, readable by its owner alone. RunError where it
// cannot be written, or where there is such a file and `replace` is false.
void write_recording(const Recording& recording, const std::filesystem::path& file, bool replace);

enum class Extent {
  tables,  // without calls, works and orders
  everything,
};

// Reads and checks it: every reference, order and kind. InputError, in one line, where it is no recording, of
// a newer version, cut off or damaged.
Recording read_recording(const std::filesystem::path& file, Extent extent = Extent::everything);

// Where its times are from.
struct Origins {
  Gpu gpu;              // that it used
  bool beside = false;  // some were taken beside work that is not in it
};

// InputError as read_recording, but for what the rest of the file has.
Origins origins_of_recording(const std::filesystem::path& file);

// Of any length, for tests and those who make recordings by other means: throws as read_recording does, where
// something in it refers to nothing or is out of order. `file`: for the message.
void check_recording(const Recording& recording, const std::string& file);

}  // namespace gangway::recording

// Recordings as files (README.md).
#pragma once

#include <filesystem>

#include "models/recording/recording.hpp"

namespace gangway::recording {

// All readers accept gzip-compressed recordings.

// Whether the file starts like a recording, valid or not.
bool is_recording(const std::filesystem::path& file);

// Writes under a temporary name and renames; readable by the owner only. RunError if writing fails, or if the
// file exists and `replace` is false.
void write_recording(const Recording& recording, const std::filesystem::path& file, bool replace);

enum class Extent {
  tables,  // without calls, works and orders
  everything,
};

// Reads and checks every reference, order and kind. InputError, one line, if it is no recording, too new,
// truncated or damaged.
Recording read_recording(const std::filesystem::path& file, Extent extent = Extent::everything);

// Where a recording's times come from.
struct Origins {
  Gpu gpu;              // that it used
  bool beside = false;  // some were taken beside work that it does not contain
  Duration unrecorded;  // as in About
};

// InputError as read_recording, except for errors in the rest of the file.
Origins origins_of_recording(const std::filesystem::path& file);

// For tests and other producers of recordings: throws as read_recording does if a reference is dangling or an
// order is wrong. `file`: for the message.
void check_recording(const Recording& recording, const std::string& file);

}  // namespace gangway::recording

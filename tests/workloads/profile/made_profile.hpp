// Profiles made by hand, as files of both kinds.
#pragma once

#include <filesystem>
#include <string>

#include "models/recording/recording.hpp"
#include "workloads/profile/import_profile.hpp"
#include "workloads/profile/profile.hpp"

namespace gangway::testing {

// What Nsight Systems would export of the program below, as SQL, and PyTorch's profiler, as JSON.
//
//   host thread 1234     0 launch A  400 copy  700 record  800 wait (13)  900 launch B  1200-5700 sync (13)
//   stream 7                1000-4000 A   4200-4900 copy
//   stream 13                                            5000-5500 B
//   ... 2300 ns of thought ...
//   host thread 1234  8000 launch graph   8500-9500 sync (all)
//   stream 7             9000-9100 C   9120-9300 C
//   stream 9               9050-9080 memset
extern const char* const kNsysExport;
extern const char* const kTorchTrace;

// Writes a database that the statements make; returns the file.
std::filesystem::path write_export(const std::filesystem::path& file, const std::string& sql);
std::filesystem::path write_trace(const std::filesystem::path& file, const std::string& json);

// Imports the file as one recording beside it, and reads that.
recording::Recording imported(const std::string& profiler, const std::filesystem::path& file,
                              profile::ImportSettings settings = {});

}  // namespace gangway::testing

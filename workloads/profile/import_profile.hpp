// What `gangway import` does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/recording/jobs.hpp"
#include "models/recording/recording.hpp"

namespace gangway::profile {

// The clients of a profile, of which each becomes a recording.
enum class Split { none, process, stream };

struct ImportSettings {
  std::string profiler, file, out;  // out: with a split, its name is the stem of theirs
  bool replace = false;
  recording::JobRule jobs;
  std::optional<std::uint32_t> process;  // its pid; needed where several submitted work and there is no split
  std::string stream;                    // NUMBER or CONTEXT/NUMBER; empty: all of them
  Split split = Split::none;
  recording::Gpu device;  // for what the profile does not say of a GPU
  std::string version;    // of Gangway
};

// Tells of each recording when it is written. Throws InputError, before anything is written, for a profile
// without work of a GPU, a process or stream that is not in it or is not clear, a range that nobody has, and
// a file that is there; RunError where one cannot be written.
void import_profile(const ImportSettings& settings,
                    const std::function<void(const std::string& file, const recording::Recording&)>& written);

}  // namespace gangway::profile

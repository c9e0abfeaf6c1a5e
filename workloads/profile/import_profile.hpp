// `gangway import`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/recording/jobs.hpp"
#include "models/recording/recording.hpp"

namespace gangway::profile {

// Which clients of a profile become separate recordings.
enum class Split { none, process, stream };

struct ImportSettings {
  std::string profiler, file, out;  // out: with a split, the stem of the files' names
  bool replace = false;
  recording::JobRule jobs;
  // pid; required if several processes submitted work and there is no split.
  std::optional<std::uint32_t> process;
  std::string stream;  // NUMBER or CONTEXT/NUMBER; empty: all of them
  Split split = Split::none;
  recording::Gpu device;  // for facts about the GPU that the profile lacks
  std::string version;    // of Gangway
};

// Reports each written recording. Throws InputError, before writing anything, for a profile without GPU work,
// an unknown or ambiguous process or stream, a missing range, and an existing file; RunError if writing
// fails.
void import_profile(const ImportSettings& settings,
                    const std::function<void(const std::string& file, const recording::Recording&)>& written);

}  // namespace gangway::profile

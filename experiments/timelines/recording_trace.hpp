// The timeline of a recording, as Chrome trace JSON for ui.perfetto.dev.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "models/recording/recording.hpp"

namespace gangway {

struct RecordingTraceEnd {
  std::uint64_t bytes = 0;  // on disk
  std::optional<Time> full_at;
};

// Host threads with their calls and NVTX ranges, streams with what ran in them, arrows from one to the other,
// jobs, and memory held. `most`: bytes on disk; where they do not suffice, it ends earlier and says so. None:
// not even the names fit, and nothing is written. RunError where the file cannot be written.
std::optional<RecordingTraceEnd> write_recording_trace(const recording::Recording& recording,
                                                       const std::filesystem::path& file, std::uint64_t most);

}  // namespace gangway

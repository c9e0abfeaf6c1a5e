// Converts a process, or a stream, of a profile to a recording.
#pragma once

#include <optional>
#include <string>

#include "workloads/profile/submitters.hpp"

namespace gangway::profile {

// The recording of a process; with `stream`, only what it did for that stream. Jobs are not cut. README.md
// says how missing facts are filled in. Throws InputError if times make no sense.
recording::Recording record_client(const Profile& profile, Index process,
                                   const std::optional<Submitter::OfStream>& stream, const std::string& file);

}  // namespace gangway::profile

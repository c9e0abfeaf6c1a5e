// From a profile to a recording: of one process in it, or of one of its streams.
#pragma once

#include <optional>
#include <string>

#include "workloads/profile/submitters.hpp"

namespace gangway::profile {

// The recording of one process: everything that it did, or, with `stream`, what it did for that stream alone.
// Jobs are not cut. README.md says how what a profile leaves open is taken. Throws InputError where the times
// make no sense.
recording::Recording record_client(const Profile& profile, Index process,
                                   const std::optional<Submitter::OfStream>& stream, const std::string& file);

}  // namespace gangway::profile

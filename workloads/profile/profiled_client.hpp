// From a profile to a recording: of one process in it, or of one of its streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/profile/profile.hpp"

namespace gangway::profile {

// Who submitted work whose calls the profile has.
struct Submitter {
  Index process = 0;
  std::int64_t submissions = 0;
  struct OfStream {
    std::uint32_t context = 0, number = 0;
    std::int64_t submissions = 0;
  };
  std::vector<OfStream> streams;  // by context, then number
};

// Says of rows whose process the profile leaves open whose they are, as far as correlation ids tell.
void settle_processes(Profile& profile);

// In the order of the profile's processes.
std::vector<Submitter> submitters(const Profile& profile);

// The recording of one process: everything that it did, or, with `stream`, what it did for that stream alone.
// Jobs are not cut. README.md says how what a profile leaves open is taken. Throws InputError where the times
// make no sense.
recording::Recording record_client(const Profile& profile, Index process,
                                   const std::optional<Submitter::OfStream>& stream, const std::string& file);

}  // namespace gangway::profile

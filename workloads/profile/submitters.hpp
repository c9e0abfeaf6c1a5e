// Who submitted the work in a profile.
#pragma once

#include <cstdint>
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

}  // namespace gangway::profile

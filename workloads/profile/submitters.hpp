// The submitters of a profile's work.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/profile/profile.hpp"

namespace gangway::profile {

// A submitter of work whose calls are in the profile.
struct Submitter {
  Index process = 0;
  std::int64_t submissions = 0;
  struct OfStream {
    std::uint32_t context = 0, number = 0;
    std::int64_t submissions = 0;
  };
  std::vector<OfStream> streams;  // by context, then number
};

// Assigns rows of unknown process to processes, as far as correlation ids allow.
void settle_processes(Profile& profile);

// In the order of the profile's processes.
std::vector<Submitter> submitters(const Profile& profile);

}  // namespace gangway::profile

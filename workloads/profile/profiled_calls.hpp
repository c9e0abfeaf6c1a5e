// The calls of a client, and which of them a correlation id means.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

class ProfiledCalls {
 public:
  // Puts the process's calls into the recording, by their begin.
  explicit ProfiledCalls(ProfiledRows& rows);

  // The recording's call of a correlation id; kNone where the profile does not have it.
  Index of(std::uint32_t correlation) const;
  // Whether a function of the recording is one that returns before its work is over.
  bool asynchronous(Index function) const { return asynchronous_[function]; }

 private:
  std::unordered_map<std::uint32_t, Index> by_correlation_;
  std::vector<bool> asynchronous_;  // by function
};

}  // namespace gangway::profile

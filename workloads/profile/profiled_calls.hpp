// A client's calls, and the call of each correlation id.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "workloads/profile/profiled_rows.hpp"

namespace gangway::profile {

class ProfiledCalls {
 public:
  // Adds the process's calls to the recording, ordered by begin.
  explicit ProfiledCalls(ProfiledRows& rows);

  // The recording's call for a correlation id; kNone if the profile lacks it.
  Index of(std::uint32_t correlation) const;
  // Whether a function of the recording returns before its work is over.
  bool asynchronous(Index function) const { return asynchronous_[function]; }

 private:
  std::unordered_map<std::uint32_t, Index> by_correlation_;
  std::vector<bool> asynchronous_;  // by function
};

}  // namespace gangway::profile

// What numbers and names of kinds mean in exports of Nsight Systems. They have changed and may change again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "workloads/profile/profile.hpp"
#include "workloads/profile/profile_tables.hpp"

namespace gangway::profile {

// Numbers where an export has no table that names them.
inline constexpr std::int64_t kPushPopRange = 59, kStartEndRange = 60, kDomainCreate = 75;

inline bool is_time(std::int64_t time) { return time > -kLatestTime && time < kLatestTime; }

// What stands between two kinds of memory: CUDA_MEMCPY_KIND_*.
enum class Side { unknown, host, device, array };
struct CopySides {
  Side from = Side::unknown, to = Side::unknown;
};
CopySides sides_of(std::int64_t copy_kind);

// Exports write 0 for what they do not know, which is a kind of memory, too: the kind of copy decides.
recording::MemoryKind kind_on(Side side, recording::MemoryKind said);

// Numbers of kinds, by the export's own tables where it has them.
struct NsysKinds {
  explicit NsysKinds(ProfileTables& tables);

  std::map<std::int64_t, recording::MemoryKind> memory;
  std::map<std::int64_t, WaitKind> waits;
  std::map<std::int64_t, recording::StreamKind> streams;
  std::map<std::int64_t, bool> range_types, cooperative, releases;
};

template <typename Kind>
Kind kind_of(const std::map<std::int64_t, Kind>& kinds, std::optional<std::int64_t> number, Kind otherwise) {
  const auto known = number ? kinds.find(*number) : kinds.end();
  return known != kinds.end() ? known->second : otherwise;
}

}  // namespace gangway::profile

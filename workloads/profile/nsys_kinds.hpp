// Meanings of kind numbers and names in exports of Nsight Systems, which vary by version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "workloads/profile/profile.hpp"
#include "workloads/profile/profile_tables.hpp"

namespace gangway::profile {

// Used if an export has no table that names them.
inline constexpr std::int64_t kPushPopRange = 59, kStartEndRange = 60, kDomainCreate = 75;

inline bool is_time(std::int64_t time) { return time > -kLatestTime && time < kLatestTime; }

// The memory sides in CUDA_MEMCPY_KIND_*.
enum class Side { unknown, host, device, array };
struct CopySides {
  Side from = Side::unknown, to = Side::unknown;
};
CopySides sides_of(std::int64_t copy_kind);

// Exports use 0 for unknown, which is also a kind of memory; the kind of copy decides.
recording::MemoryKind kind_on(Side side, recording::MemoryKind said);

// Numbers of kinds, from the export's own tables if present.
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

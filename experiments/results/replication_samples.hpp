// Reads a result folder's replications for tests of differences.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/results/bounded_value.hpp"
#include "experiments/results/manifest.hpp"

namespace gangway {

// One replication of a point and policy, or of a client.
struct ReplicationRow {
  std::vector<std::optional<BoundedValue>> values;  // in the order of ReplicationTable::metrics
  std::string starved;                              // clients that finished no job, as in the table
  std::string understated;                          // likewise
};

using SampleKey = std::tuple<std::uint32_t, std::string, std::string>;  // point, policy, client or ""

struct ReplicationTable {
  std::vector<std::string> columns;                                   // possible metrics
  std::vector<std::string> metrics;                                   // requested metrics that are present
  std::map<SampleKey, std::map<std::uint32_t, ReplicationRow>> rows;  // by replication
};

struct ReplicationSamples {
  Manifest manifest;
  bool kept = true;         // false: several replications, but an older program did not store them
  bool seed_swept = false;  // then points have equal seeds if their values are equal
  ReplicationTable points, services;
  std::vector<std::pair<std::uint32_t, std::string>> groups;  // points and policies, including failed ones
};

// Reads from each table the `metrics` that it has; empty: all. Throws InputError as read_manifest(), and for
// missing, truncated or malformed tables.
ReplicationSamples read_replications(const std::filesystem::path& folder,
                                     const std::vector<std::string>& metrics);

}  // namespace gangway

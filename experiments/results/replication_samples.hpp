// What the replications of a result folder came to, read for tests of differences.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/results/manifest.hpp"

namespace gangway {

// One replication of a point and policy, or of a client there.
struct ReplicationRow {
  std::vector<std::optional<double>> values;  // in the order of ReplicationTable::metrics
  std::string starved;                        // clients that finished no job, as the table has them
  std::string lower_bounds;                   // metrics of these values that are lower bounds, between blanks
};

using SampleKey = std::tuple<std::uint32_t, std::string, std::string>;  // point, policy, client or ""

struct ReplicationTable {
  std::vector<std::string> columns;  // those that could be metrics
  std::vector<std::string> metrics;  // those that were asked for and are there
  std::map<SampleKey, std::map<std::uint32_t, ReplicationRow>> rows;  // by replication
};

struct ReplicationSamples {
  Manifest manifest;
  bool kept = true;         // false: there are several replications and a program of old kept none
  bool seed_swept = false;  // then points have equal seeds where they have equal values
  ReplicationTable points, services;
  std::vector<std::pair<std::uint32_t, std::string>> groups;  // points and policies, failed ones as well
};

// Reads of each table those of `metrics` that it has; empty: all. Throws InputError as read_manifest() does,
// and for tables that are missing, cut off or malformed.
ReplicationSamples read_replications(const std::filesystem::path& folder,
                                     const std::vector<std::string>& metrics);

}  // namespace gangway

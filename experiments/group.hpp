// All replications of one policy at one point: the rows of the result files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/row.hpp"
#include "experiments/unit.hpp"

namespace gangway {

struct GroupRows {
  Row summary;
  std::vector<std::pair<std::string, Row>> clients;  // by client name, sorted
  std::uint64_t events = 0;
  std::int64_t jobs = 0;

  nlohmann::ordered_json json() const;
  static GroupRows from_json(const nlohmann::ordered_json& json);
};

// Takes replications in order and reduces them to rows.
class Group {
 public:
  explicit Group(std::vector<std::string> client_names)
      : names_(std::move(client_names)), responses_(names_.size()) {}
  void add(const UnitResult& replication);
  GroupRows rows() const;

 private:
  Row client_row(std::size_t client) const;
  template <typename Get>
  std::vector<double> over_replications(Get get) const;

  std::vector<std::string> names_;
  std::vector<ReplicationMetrics> replications_;
  std::vector<std::vector<SliceUse>> slices_;  // by replication and client
  std::vector<Percentiles> responses_;
  std::vector<double> switching_;  // by replication, where it is known
  Percentiles all_responses_;
  Lateness lateness_;
  std::uint64_t events_ = 0;
};

}  // namespace gangway

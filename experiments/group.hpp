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

// Response times pooled over replications, and the 99th percentile of each replication by itself.
struct Responses {
  ResponseTimes pooled;
  std::vector<double> p99_ns;
  bool p99_exact = true;  // in every replication

  void add(const ResponseTimes& replication);
  Cell percentile(double share) const;
  Cell kind() const;      // whether percentiles are "exact", or one a "lower-bound"
  Cell p99_ci95() const;  // over replications; none where one of them has a lower bound
};

// Takes replications in order and reduces them to rows.
class Group {
 public:
  explicit Group(std::vector<std::string> client_names)
      : names_(std::move(client_names)), responses_(names_.size()) {}
  void add(const UnitResult& replication);
  GroupRows rows() const;

 private:
  bool starved(std::size_t client) const;  // in any replication
  std::string starved_clients() const;
  Cell evictions_by_gpu() const;
  Row client_row(std::size_t client) const;
  template <typename Get>
  std::vector<double> over_replications(Get get) const;

  std::vector<std::string> names_;
  std::vector<ReplicationMetrics> replications_;
  std::vector<std::vector<SliceUse>> slices_;  // by replication and client
  Responses all_responses_;
  std::vector<Responses> responses_;  // by client
  std::vector<double> switching_;     // by replication, where it is known
  std::vector<double> evictions_;     // by GPU, summed over replications; empty where they are not counted
  Lateness lateness_;
  std::uint64_t events_ = 0;
};

}  // namespace gangway

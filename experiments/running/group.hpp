// All replications of one policy at one point: the rows of the result files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/metrics/samples.hpp"
#include "experiments/results/response_percentiles.hpp"
#include "experiments/results/row.hpp"
#include "experiments/running/unit.hpp"

namespace gangway {

using NamedRows = std::vector<std::pair<std::string, Row>>;

struct GroupRows {
  Row summary;
  NamedRows clients;   // by client name, sorted
  NamedRows services;  // likewise; empty where they are not counted
  // The same of each replication by itself, in order, its number first and without intervals, which it has
  // none of; empty where there is one replication only.
  std::vector<Row> replications;
  std::vector<std::pair<std::string, std::vector<Row>>> service_replications;
  std::uint64_t events = 0;
  std::int64_t jobs = 0;
  std::vector<std::string> notes;  // UnitResult::notes of all replications

  nlohmann::ordered_json json() const;
  static GroupRows from_json(const nlohmann::ordered_json& json);
};

// Takes replications in order and reduces them to rows.
class Group {
 public:
  // `services`: replications have what services are judged by. `each`: rows() has those of each replication,
  // too.
  explicit Group(std::vector<std::string> client_names, bool services = false, bool each = false);
  void add(const UnitResult& replication);
  GroupRows rows() const;

 private:
  void keep_alone(const UnitResult& replication, const ResponseTimes& all);
  void take(const UnitResult& replication, const ResponseTimes& all);
  void take_responses(const UnitResult& replication);
  double total(std::size_t client, std::int64_t ClientAverages::*member) const;
  PointSample point_sample() const;
  Row summary_row(const PointSample& sample) const;
  NamedRows service_rows() const;
  Row client_row(std::size_t client) const;
  Row service_row(std::size_t client) const;

  std::vector<std::string> names_;
  bool each_;
  std::vector<Row> each_replication_;
  std::vector<std::pair<std::string, std::vector<Row>>> each_service_;
  std::vector<ReplicationMetrics> replications_;
  std::vector<std::vector<SliceUse>> slices_;          // by replication and client
  std::vector<std::vector<double>> kernel_evictions_;  // likewise
  std::vector<std::vector<ServiceMetrics>> services_;  // likewise; empty where they are not counted
  ResponsePercentiles all_responses_;
  std::vector<ResponsePercentiles> responses_;  // by client
  std::vector<double> switching_;               // by replication, where it is known
  std::vector<double> evictions_;  // by GPU, summed over replications; empty where they are not counted
  Lateness lateness_;
  std::vector<std::string> notes_;
  std::uint64_t events_ = 0;
};

}  // namespace gangway

// The data from which metrics of each level are computed.
#pragma once

#include <vector>

#include "experiments/metrics/metric.hpp"
#include "experiments/results/response_percentiles.hpp"
#include "models/metrics/replication.hpp"
#include "models/metrics/run_meter.hpp"
#include "models/metrics/service_meter.hpp"
#include "models/metrics/slice_meter.hpp"
#include "models/run/lateness.hpp"

namespace gangway {

// All replications, at least one, of a point under a policy, in order.
struct PointSample {
  const std::vector<std::string>& clients;  // names, as in ReplicationMetrics::clients
  const std::vector<ReplicationMetrics>& replications;
  const ResponsePercentiles& responses;         // of all clients' jobs
  const std::vector<double>& switching;         // by replication, if known
  const std::vector<double>& evictions_by_gpu;  // summed over replications; empty if not counted
  const Lateness* lateness = nullptr;           // null for a single replication
  double shortest_alone_ns = 0;                 // least mean time alone of all clients
};

// One client. Averages over its jobs have no value if it starved.
struct ClientSample {
  std::size_t client = 0;
  const std::vector<ReplicationMetrics>& replications;
  const ResponsePercentiles& responses;              // of its jobs; empty if it starved
  const std::vector<std::vector<SliceUse>>& slices;  // by replication and client; empty if not counted
  const std::vector<std::vector<double>>& kernel_evictions;  // likewise

  bool starved() const;  // in any replication
};

// One client as a service.
struct ServiceSample {
  const std::vector<ServiceMetrics>& replications;
  const ResponsePercentiles& latencies;  // likewise
  double jobs = 0, unfinished = 0, starved_runs = 0;
};

using PointMetric = MetricOf<PointSample>;
using ClientMetric = MetricOf<ClientSample>;
using ServiceMetric = MetricOf<ServiceSample>;

// jobs.csv may be long, so job metrics append text to the row.
struct JobMetric {
  enum class Kind { whole, number, text };
  Metric about;
  Kind kind = Kind::number;  // number: may be missing
  std::function<void(std::string&, const JobResult&)> append;
};

// Latency percentiles in services.csv, as shares.
std::vector<double> service_percentiles();

template <>
std::list<PointMetric> Metrics<PointMetric>::usual();
template <>
std::list<ClientMetric> Metrics<ClientMetric>::usual();
template <>
std::list<ServiceMetric> Metrics<ServiceMetric>::usual();
template <>
std::list<JobMetric> Metrics<JobMetric>::usual();
template <>
std::source_location Metrics<PointMetric>::place_of_usual();
template <>
std::source_location Metrics<ClientMetric>::place_of_usual();
template <>
std::source_location Metrics<ServiceMetric>::place_of_usual();
template <>
std::source_location Metrics<JobMetric>::place_of_usual();

}  // namespace gangway

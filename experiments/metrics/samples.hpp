// What metrics of each level are computed from.
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

// All replications, in order and at least one, of a point under a policy.
struct PointSample {
  const std::vector<std::string>& clients;  // names, as ReplicationMetrics::clients has them
  const std::vector<ReplicationMetrics>& replications;
  const ResponsePercentiles& responses;         // of the jobs of all clients
  const std::vector<double>& switching;         // by replication, where it is known
  const std::vector<double>& evictions_by_gpu;  // summed over replications; empty where not counted
  const Lateness* lateness = nullptr;           // null for a replication by itself
  double shortest_alone_ns = 0;                 // the least of the clients' mean times alone
};

// Of one client. What is averaged over its jobs has no value where it starved.
struct ClientSample {
  std::size_t client = 0;
  const std::vector<ReplicationMetrics>& replications;
  const ResponsePercentiles& responses;  // of its jobs; without any where it starved
  const std::vector<std::vector<SliceUse>>&
      slices;  // by replication and client; each empty where not counted

  bool starved() const;  // in any replication
};

// Of one client as a service.
struct ServiceSample {
  const std::vector<ServiceMetrics>& replications;
  const ResponsePercentiles& latencies;  // likewise
  double jobs = 0, unfinished = 0, starved_runs = 0;
};

using PointMetric = MetricOf<PointSample>;
using ClientMetric = MetricOf<ClientSample>;
using ServiceMetric = MetricOf<ServiceSample>;

// jobs.csv may be long, so that a job's metrics append their text to its row.
struct JobMetric {
  enum class Kind { whole, number, text };
  Metric about;
  Kind kind = Kind::number;  // number: may be missing
  std::function<void(std::string&, const JobResult&)> append;
};

// Percentiles of latencies that services.csv has, as shares.
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

// Of one client of a point under a policy.
#include "experiments/metrics/over_replications.hpp"
#include "experiments/metrics/samples.hpp"

namespace gangway {

bool ClientSample::starved() const {
  return std::any_of(replications.begin(), replications.end(),
                     [&](const ReplicationMetrics& m) { return m.clients[client].starved(); });
}

namespace {

using ClientValue = std::function<Cell(const ClientSample&)>;

// Of the replications that have a value.
std::vector<double> known_of(const ClientSample& sample, double ClientAverages::*member) {
  std::vector<double> values;
  for (const ReplicationMetrics& m : sample.replications) {
    const ClientAverages& own = m.clients[sample.client];
    if (own.jobs > 0 && std::isfinite(own.*member)) values.push_back(own.*member);
  }
  return values;
}

std::vector<double> unless_starved(const ClientSample& sample, double ClientAverages::*member) {
  return sample.starved() ? std::vector<double>() : known_of(sample, member);
}

bool is_bound(const ClientSample& sample, bool ClientAverages::*which) {
  return !sample.starved() &&
         std::any_of(sample.replications.begin(), sample.replications.end(),
                     [&](const ReplicationMetrics& m) { return m.clients[sample.client].*which; });
}

ClientValue averaged(double ClientAverages::*member) {
  return [member](const ClientSample& sample) { return mean_of(unless_starved(sample, member)); };
}

// Of bounds there is none.
ClientValue interval(double ClientAverages::*member, bool ClientAverages::*bound) {
  return [member, bound](const ClientSample& sample) {
    return is_bound(sample, bound) ? Cell() : Cell(half_width_95(unless_starved(sample, member)));
  };
}

// As in the table of services.
Cell lower_bounds_of_means(const ClientSample& sample) {
  std::string names;
  for (const auto& [name, which] : {std::pair{"ntt", &ClientAverages::least_ntt},
                                    std::pair{"response_ns_mean", &ClientAverages::least_response},
                                    std::pair{"waiting_ns_mean", &ClientAverages::least_waiting}})
    if (is_bound(sample, which)) names += (names.empty() ? "" : "|") + std::string(name);
  return names;
}

ClientValue total(std::int64_t ClientAverages::*member) {
  return [member](const ClientSample& sample) {
    return sum_of(over_replications(
        sample.replications, [&](const ReplicationMetrics& m) { return m.clients[sample.client].*member; }));
  };
}

bool has_slices(const ClientSample& sample) { return !sample.slices.front().empty(); }

ClientValue of_slices(double SliceUse::*member) {
  return [member](const ClientSample& sample) {
    std::vector<double> values;
    for (const std::vector<SliceUse>& replication : sample.slices)
      if (std::isfinite(replication[sample.client].*member))
        values.push_back(replication[sample.client].*member);
    return mean_of(values);
  };
}

Cell kernel_evictions(const ClientSample& sample) {
  std::vector<double> values;
  for (const std::vector<double>& replication : sample.kernel_evictions)
    values.push_back(replication[sample.client]);
  return mean_of(values);
}

}  // namespace

// clang-format off
template <>
std::list<ClientMetric> Metrics<ClientMetric>::usual() {
  using Of = ClientAverages;
  return {
      {{.name = "ntt", .label = "NTT", .better = Better::lower,
        .meaning = "Normalised turnaround time, response over time alone: mean over its jobs, then over replications.",
        .compared = true},
       averaged(&Of::ntt), interval(&Of::ntt, &Of::least_ntt)},
      {{.name = "response_ns_mean", .label = "response", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "From a job's release to its finish: mean over its jobs, then over replications.",
        .compared = true},
       averaged(&Of::response_ns), interval(&Of::response_ns, &Of::least_response), "eviction_delay_ns_mean"},
      {{.name = "response_ns_p99", .label = "p99 response", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "99th percentile of the same, over the jobs of all replications."},
       [](const ClientSample& s) { return s.responses.percentile(0.99); },
       [](const ClientSample& s) { return s.responses.ci95(0.99); }, "eviction_delay_ns_mean"},
      {{.name = "waiting_ns_mean", .label = "waiting", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "Response less the time with blocks on a GPU or copies under way, so waits and time of the host alone: mean over its jobs."},
       averaged(&Of::waiting_ns)},
      {{.name = "evictions", .label = "evictions per job", .unit = MetricUnit::count,
        .meaning = "Evictions per job: mean over its finished jobs, then over replications.", .heading = "evict/job"},
       averaged(&Of::evictions)},
      {{.name = "standalone_ns", .label = "time alone", .unit = MetricUnit::ns,
        .meaning = "Time of a job alone: mean over its jobs.", .heading = "alone", .compared = true},
       [](const ClientSample& s) { return mean_of(known_of(s, &Of::standalone_ns)); }},
      {{.name = "jobs", .label = "jobs", .unit = MetricUnit::count, .meaning = "Jobs finished in all runs."},
       total(&Of::jobs)},
      {{.name = "eviction_delay_ns_mean", .label = "eviction delay", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "From the order to evict it until its last block is gone (0 without blocks): mean over its finished jobs' evictions, then over replications; empty without any.",
        .heading = "delay"},
       averaged(&Of::eviction_delay_ns)},
      {{.name = "percentiles", .label = "percentiles", .unit = MetricUnit::text,
        .meaning = "`lower-bound` where unfinished jobs could raise the median or p99, or it was killed or refused or its program ended; else `rounded` beyond 4,194,304 jobs, or `exact`."},
       [](const ClientSample& s) { return s.responses.kind(); }},
      {{.name = "unfinished", .label = "unfinished", .unit = MetricUnit::count, .better = Better::lower,
        .meaning = "Unfinished jobs in all runs."},
       total(&Of::unfinished)},
      {{.name = "starved_runs", .label = "starved runs", .unit = MetricUnit::count, .better = Better::lower,
        .meaning = "Runs in which it had jobs and finished none."},
       total(&Of::starved_runs)},
      {{.name = "lower_bounds", .label = "lower bounds", .unit = MetricUnit::text,
        .meaning = "Means that are lower bounds, separated by |: they count unfinished jobs with what is known of them, or it was killed or refused or its program ended."},
       lower_bounds_of_means},
      {{.name = "slice_share", .label = "share of slices", .unit = MetricUnit::share,
        .meaning = "Its share of all launches while every client has a job; only if a policy moves memory."},
       of_slices(&SliceUse::share), {}, "", has_slices},
      {{.name = "slices_in_a_row", .label = "slices in a row", .unit = MetricUnit::count,
        .meaning = "Mean number of these in a row before another client's; likewise."},
       of_slices(&SliceUse::in_a_row), {}, "", has_slices},
      {{.name = "kernel_evictions", .label = "evictions inside kernels", .unit = MetricUnit::count,
        .meaning = "Kernels of its program that left before their end, per run; only in the world live, if some policy takes forms.",
        .heading = "kernels evicted"},
       kernel_evictions, {}, "", [](const ClientSample& s) { return !s.kernel_evictions.front().empty(); }}};
}
// clang-format on

template <>
std::source_location Metrics<ClientMetric>::place_of_usual() {
  return std::source_location::current();
}

}  // namespace gangway

// Of one client as a service; experiments/README.md, "Services", defines each in full.
#include <array>

#include "experiments/metrics/over_replications.hpp"
#include "experiments/metrics/samples.hpp"

namespace gangway {
namespace {

struct LatencyPercentile {
  double share;
  const char* name;
  const char* label;
  bool tested = false;
};
constexpr std::array<LatencyPercentile, 5> kLatencies{{{0.5, "p50", "median latency"},
                                                       {0.9, "p90", "p90 latency"},
                                                       {0.95, "p95", "p95 latency"},
                                                       {0.99, "p99", "p99 latency", true},
                                                       {0.999, "p999", "p99.9 latency"}}};

using ServiceValue = std::function<Cell(const ServiceSample&)>;

// All replications have a value, or there is none: that of the rest alone might flatter. Only the share of an
// entitlement needs jobs, all others a window.
std::vector<double> each_of(const ServiceSample& sample, double ServiceMetrics::*member) {
  return over_replications(
      sample.replications, [&](const ServiceMetrics& m) { return m.*member; },
      [&](const ServiceMetrics& m) {
        return member == &ServiceMetrics::share_against_weight ? m.released > 0
                                                               : std::isfinite(m.arrivals_per_s);
      });
}

ServiceValue averaged(double ServiceMetrics::*member) {
  return [member](const ServiceSample& sample) { return mean_of(each_of(sample, member)); };
}

ServiceValue interval(double ServiceMetrics::*member) {
  return [member](const ServiceSample& sample) { return half_width_95(each_of(sample, member)); };
}

bool has_lost(const ServiceSample& sample) {
  return std::any_of(sample.replications.begin(), sample.replications.end(),
                     [](const ServiceMetrics& m) { return m.lost; });
}

// Of what is a bound where jobs are lost: of bounds there is none.
ServiceValue interval_unless_lost(double ServiceMetrics::*member) {
  return [member](const ServiceSample& sample) {
    return has_lost(sample) ? Cell() : Cell(half_width_95(each_of(sample, member)));
  };
}

// Jobs by their objective, of all replications.
ServiceMetrics decided(const ServiceSample& sample) {
  ServiceMetrics all = sample.replications.front();
  all.met = all.missed = all.undecided = 0;
  for (const ServiceMetrics& m : sample.replications) {
    all.met += m.met;
    all.missed += m.missed;
    all.undecided += m.undecided;
  }
  return all;
}

ServiceValue count_of(std::int64_t ServiceMetrics::*member) {
  return [member](const ServiceSample& sample) {
    const ServiceMetrics all = decided(sample);
    return all.slo ? Cell(static_cast<double>(all.*member)) : Cell();
  };
}

Cell objective(const ServiceSample& sample) {
  const auto& slo = sample.replications.front().slo;
  return slo ? Cell(static_cast<double>(slo->ns)) : Cell();
}

Cell interval_of_attainment(const ServiceSample& sample) {
  std::vector<double> shares;
  if (has_lost(sample)) return {};
  for (const ServiceMetrics& m : sample.replications) {
    if (m.released == 0) continue;
    const auto share = m.attainment();
    if (!share) return {};
    shares.push_back(*share);
  }
  return half_width_95(shares);
}

Cell lower_bounds(const ServiceSample& sample) {
  std::string bounds;
  for (const LatencyPercentile& each : kLatencies)
    if (!sample.latencies.exact(each.share)) bounds += (bounds.empty() ? "" : "|") + std::string(each.name);
  if (has_lost(sample)) bounds += (bounds.empty() ? "" : "|") + std::string("queue_mean|queue_max");
  return bounds;
}

Cell upper_bounds(const ServiceSample& sample) {
  if (!has_lost(sample)) return {};
  return std::string(sample.replications.front().slo ? "attainment|throughput_per_s" : "throughput_per_s");
}

Cell longest_queue(const ServiceSample& sample) {
  std::int64_t longest = 0;
  for (const ServiceMetrics& m : sample.replications) longest = std::max(longest, m.queue_max);
  return static_cast<double>(longest);
}

// NaN, where no run has a window of a second, is smaller and larger than nothing.
ServiceValue of_all_seconds(double ServiceMetrics::*member,
                            const double& (*either)(const double&, const double&)) {
  return [member, either](const ServiceSample& sample) {
    std::optional<double> found;
    for (const ServiceMetrics& m : sample.replications)
      if (!std::isnan(m.*member)) found = found ? either(*found, m.*member) : m.*member;
    return Cell(found);
  };
}

ServiceMetric latency(const LatencyPercentile& of) {
  const double share = of.share;
  return {{.name = std::string("latency_ns_") + of.name,
           .label = of.label,
           .unit = MetricUnit::ns,
           .better = Better::lower,
           .meaning = std::string("Latency, from a job's release to its finish: its ") + of.name +
                      " over all replications.",
           .tested = of.tested},
          [share](const ServiceSample& s) { return s.latencies.percentile(share); },
          [share](const ServiceSample& s) { return s.latencies.ci95(share); }};
}

}  // namespace

std::vector<double> service_percentiles() {
  std::vector<double> shares;
  for (const LatencyPercentile& each : kLatencies) shares.push_back(each.share);
  return shares;
}

// clang-format off
template <>
std::list<ServiceMetric> Metrics<ServiceMetric>::usual() {
  using Of = ServiceMetrics;
  std::list<ServiceMetric> all{
      {{.name = "jobs", .label = "jobs", .unit = MetricUnit::count, .meaning = "Jobs finished in all runs."},
       [](const ServiceSample& s) { return Cell(s.jobs); }},
      {{.name = "unfinished", .label = "unfinished", .unit = MetricUnit::count, .better = Better::lower,
        .meaning = "Unfinished jobs in all runs."},
       [](const ServiceSample& s) { return Cell(s.unfinished); }},
      {{.name = "starved_runs", .label = "starved runs", .unit = MetricUnit::count, .better = Better::lower,
        .meaning = "Runs in which it had jobs and finished none."},
       [](const ServiceSample& s) { return Cell(s.starved_runs); }}};
  for (const LatencyPercentile& each : kLatencies) all.push_back(latency(each));
  all.splice(all.end(), std::list<ServiceMetric>{
      {{.name = "lower_bounds", .label = "lower bounds", .unit = MetricUnit::text,
        .meaning = "Percentiles that unfinished jobs could raise, separated by |; all of them, and what later jobs could raise, if it was killed or refused or its program ended."},
       lower_bounds},
      {{.name = "upper_bounds", .label = "upper bounds", .unit = MetricUnit::text,
        .meaning = "What later jobs could lower, separated by |, if it was killed or refused or its program ended."},
       upper_bounds},
      {{.name = "latency_ns_p99_most", .label = "p99 latency at most", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "`latency_ns_p99` if unfinished jobs never finished; empty: unbounded."},
       [](const ServiceSample& s) { return s.latencies.most(0.99); }},
      {{.name = "slo_ns", .label = "objective", .unit = MetricUnit::ns, .meaning = "Latency objective of its jobs."},
       objective},
      {{.name = "attainment", .label = "attainment", .unit = MetricUnit::share, .better = Better::higher,
        .meaning = "Jobs that met their objective over decided jobs, in all replications.",
        .tested = true},
       [](const ServiceSample& s) { return Cell(decided(s).attainment()); }, interval_of_attainment},
      {{.name = "slo_met", .label = "objective met", .unit = MetricUnit::count, .better = Better::higher,
        .meaning = "Jobs that met their objective."},
       count_of(&Of::met)},
      {{.name = "slo_missed", .label = "objective missed", .unit = MetricUnit::count, .better = Better::lower,
        .meaning = "Jobs that missed it."},
       count_of(&Of::missed)},
      {{.name = "slo_undecided", .label = "undecided", .unit = MetricUnit::count,
        .meaning = "Unfinished jobs that were not yet older than it when the run ended."},
       count_of(&Of::undecided)},
      {{.name = "arrivals_per_s", .label = "arrivals", .unit = MetricUnit::per_second,
        .meaning = "Jobs released per second of the run's window, also if the client ends before: mean over runs."},
       averaged(&Of::arrivals_per_s), interval_unless_lost(&Of::arrivals_per_s)},
      {{.name = "throughput_per_s", .label = "throughput", .unit = MetricUnit::per_second, .better = Better::higher,
        .meaning = "Jobs finished per second of the run's window, also if the client ends before: mean over runs.", .tested = true},
       averaged(&Of::throughput_per_s), interval_unless_lost(&Of::throughput_per_s)},
      {{.name = "gpu_time_ns", .label = "GPU time", .unit = MetricUnit::ns,
        .meaning = "Its equal part of the time with blocks on a GPU, summed over GPUs: mean over runs."},
       averaged(&Of::gpu_time_ns), interval(&Of::gpu_time_ns)},
      {{.name = "gpu_share", .label = "share of the GPU", .unit = MetricUnit::share,
        .meaning = "The same over the window, times the number of GPUs."},
       averaged(&Of::gpu_share), interval(&Of::gpu_share)},
      {{.name = "weight", .label = "weight", .meaning = "Its weight."},
       [](const ServiceSample& s) { return Cell(s.replications.front().weight); }},
      {{.name = "share_against_weight", .label = "share over entitlement",
        .meaning = "Its GPU time over its entitlement by weight while it has a job; 1 is its full share."},
       averaged(&Of::share_against_weight), interval(&Of::share_against_weight)},
      {{.name = "speed_in_1s_least", .label = "speed in the slowest second", .better = Better::higher,
        .meaning = "Standalone time of its jobs over 1 s, each job's spread over the GPU time that it takes: the least of all windows of 1 s in which it has a job. Empty: no window."},
       of_all_seconds(&Of::speed_in_1s_least, std::min<double>)},
      {{.name = "speed_in_1s_most", .label = "speed in the fastest second", .better = Better::higher,
        .meaning = "The most of the same."},
       of_all_seconds(&Of::speed_in_1s_most, std::max<double>)},
      {{.name = "queue_mean", .label = "jobs in the system", .unit = MetricUnit::count, .better = Better::lower,
        .meaning = "Released, unfinished jobs: mean over the window's time."},
       averaged(&Of::queue_mean), interval_unless_lost(&Of::queue_mean)},
      {{.name = "queue_max", .label = "largest number of jobs in the system", .unit = MetricUnit::count, .better = Better::lower,
        .meaning = "Maximum of the same."},
       longest_queue}});
  return all;
}
// clang-format on

template <>
std::source_location Metrics<ServiceMetric>::place_of_usual() {
  return std::source_location::current();
}

}  // namespace gangway

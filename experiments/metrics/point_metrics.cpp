// Of all clients of a point under a policy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/metrics/over_replications.hpp"
#include "experiments/metrics/samples.hpp"
#include "experiments/results/scheduler_row.hpp"

namespace gangway {
namespace {

using PointValue = std::function<Cell(const PointSample&)>;

template <typename Member>
std::vector<double> each_of(const PointSample& sample, Member ReplicationMetrics::*member) {
  return over_replications(sample.replications, [&](const ReplicationMetrics& m) { return m.*member; });
}

PointValue averaged(double ReplicationMetrics::*member) {
  return [member](const PointSample& sample) { return mean_of(each_of(sample, member)); };
}

// Of replications in which anything was released.
std::vector<double> over_clients(const PointSample& sample, double ReplicationMetrics::*member) {
  return over_replications(
      sample.replications, [&](const ReplicationMetrics& m) { return m.*member; },
      [](const ReplicationMetrics& m) { return !m.empty(); });
}

PointValue averaged_over_clients(double ReplicationMetrics::*member) {
  return [member](const PointSample& sample) { return mean_of(over_clients(sample, member)); };
}

PointValue of_windows(double ReplicationMetrics::*member) {
  return [member](const PointSample& sample) {
    return mean_of(over_replications(
        sample.replications, [&](const ReplicationMetrics& m) { return m.*member; },
        [](const ReplicationMetrics& m) { return std::isfinite(m.makespan_ns); }));
  };
}

bool has_understated(const PointSample& sample, std::size_t client) {
  return std::any_of(sample.replications.begin(), sample.replications.end(),
                     [&](const ReplicationMetrics& m) { return m.clients[client].understated(); });
}

// Of bounds there is none.
PointValue interval(double ReplicationMetrics::*member) {
  return [member](const PointSample& sample) {
    for (std::size_t c = 0; c < sample.clients.size(); ++c)
      if (has_understated(sample, c)) return Cell();
    return Cell(half_width_95(over_clients(sample, member)));
  };
}

PointValue total(std::int64_t ReplicationMetrics::*member) {
  return [member](const PointSample& sample) { return sum_of(each_of(sample, member)); };
}

Cell delay_of_evictions(const PointSample& sample) {
  const double evictions = sum_of(each_of(sample, &ReplicationMetrics::eviction_count));
  const double delay = sum_of(each_of(sample, &ReplicationMetrics::eviction_delay_ns));
  return evictions > 0 ? Cell(delay / evictions) : Cell();
}

// Names have no '|'.
template <typename Condition>
Cell clients_that(const PointSample& sample, Condition condition) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < sample.clients.size(); ++c)
    if (condition(c)) names.push_back(sample.clients[c]);
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, "|"));
}

bool has_starved(const PointSample& sample, std::size_t client) {
  return std::any_of(sample.replications.begin(), sample.replications.end(),
                     [&](const ReplicationMetrics& m) { return m.clients[client].starved(); });
}

Cell starved_clients(const PointSample& sample) {
  return clients_that(sample, [&](std::size_t client) { return has_starved(sample, client); });
}

// Where a client starves there are no averages to be bounds.
Cell understated_clients(const PointSample& sample) {
  if (!starved_clients(sample).empty()) return {};
  return clients_that(sample, [&](std::size_t client) { return has_understated(sample, client); });
}

// "1.5|0": of each GPU the mean over runs.
Cell evictions_of_gpus(const PointSample& sample) {
  std::vector<std::string> means;
  for (const double sum : sample.evictions_by_gpu)
    means.push_back(Cell(sum / static_cast<double>(sample.replications.size())).csv());
  return fmt::format("{}", fmt::join(means, "|"));
}

bool is_real_time(const PointSample& sample) {
  return sample.lateness != nullptr && sample.lateness->count() > 0;
}

Cell late(const PointSample& sample, double share) {
  return static_cast<double>(sample.lateness->at(share).ns);
}

Cell is_too_late(const PointSample& sample) {
  const auto p99 = static_cast<double>(sample.lateness->at(0.99).ns);
  return std::string(p99 > kTooLate * sample.shortest_alone_ns ? "yes" : "no");
}

// clang-format off
std::list<PointMetric> of_turnaround() {
  using Of = ReplicationMetrics;
  return {
      {{.name = "antt", .label = "ANTT", .better = Better::lower,
        .meaning = "Mean of the clients' normalised turnaround time, response over time alone.",
        .compared = true, .tested = true, .ranked = true, .if_understated = Certainty::at_least},
       averaged_over_clients(&Of::antt), interval(&Of::antt)},
      {{.name = "dntt", .label = "DNTT", .better = Better::lower,
        .meaning = "Standard deviation of the clients' normalised turnaround time.",
        .compared = true, .tested = true, .ranked = true, .if_understated = Certainty::rough},
       averaged_over_clients(&Of::dntt), interval(&Of::dntt)},
      {{.name = "stp", .label = "STP", .better = Better::higher,
        .meaning = "Sum over clients of time alone over response.",
        .compared = true, .tested = true, .ranked = true, .if_understated = Certainty::at_most},
       averaged_over_clients(&Of::stp), interval(&Of::stp)},
      {{.name = "makespan_ns", .label = "makespan", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "From the first release until the last job is over or the run ends: mean over runs with jobs; a lower bound if jobs are unfinished.",
        .compared = true, .tested = true, .if_unfinished = Certainty::at_least},
       of_windows(&Of::makespan_ns)},
      {{.name = "evictions", .label = "evictions per run", .unit = MetricUnit::count,
        .meaning = "Evictions per run: mean over runs.",
        .heading = "evict/run", .compared = true, .tested = true},
       averaged(&Of::evictions)},
      {{.name = "eviction_delay_ns_mean", .label = "eviction delay", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "From the order to evict until the last block is gone (0 without blocks): mean over the evictions of all replications; empty without any.",
        .heading = "delay", .compared = true, .tested = true},
       delay_of_evictions},
      {{.name = "utilisation", .label = "utilisation", .unit = MetricUnit::share, .better = Better::higher,
        .meaning = "Share of the makespan in which the device executes blocks: mean over runs with jobs. On a chip the driver's switches between processes count, too: nothing shows when it stops a kernel.",
        .heading = "util", .compared = true, .tested = true},
       of_windows(&Of::utilisation)},
      {{.name = "jain", .label = "Jain", .better = Better::higher,
        .meaning = "Jain's index of progress, time alone over response: 1 if all progress equally.",
        .if_understated = Certainty::rough},
       averaged_over_clients(&Of::jain)}};
}

std::list<PointMetric> of_jobs() {
  using Of = ReplicationMetrics;
  return {
      {{.name = "p99_response_ns", .label = "p99 response", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "99th percentile of the response times of all jobs.", .tested = true},
       [](const PointSample& s) { return s.responses.percentile(0.99); },
       [](const PointSample& s) { return s.responses.ci95(0.99); }, "percentiles"},
      {{.name = "p50_response_ns", .label = "median response", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "Median response time of all jobs."},
       [](const PointSample& s) { return s.responses.percentile(0.5); }},
      {{.name = "waiting_ns_mean", .label = "waiting", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "Response less the time with blocks on a GPU or copies under way, so waits and time of the host alone: mean over jobs.",
        .if_understated = Certainty::at_least},
       averaged_over_clients(&Of::waiting_ns)},
      {{.name = "concurrency_efficiency", .label = "efficiency", .better = Better::higher,
        .meaning = "Sum over clients of time between finishes alone over time per job when sharing.",
        .if_understated = Certainty::rough},
       averaged_over_clients(&Of::concurrency_efficiency)},
      {{.name = "launches", .label = "launches per run", .unit = MetricUnit::count,
        .meaning = "Launches per run: mean over runs.", .heading = "launches"},
       averaged(&Of::launches)},
      {{.name = "jobs", .label = "jobs", .unit = MetricUnit::count, .meaning = "Jobs finished in all runs."},
       total(&Of::jobs)},
      {{.name = "unfinished", .label = "unfinished", .unit = MetricUnit::count, .better = Better::lower,
        .meaning = "Unfinished jobs in all runs."},
       total(&Of::unfinished)},
      {{.name = "switching", .label = "switching", .unit = MetricUnit::share, .better = Better::lower,
        .meaning = "Share of the makespan in which a launch owned the GPU and nobody had blocks on it: mean over replications."},
       [](const PointSample& s) { return mean_of(s.switching); }},
      {{.name = "starved", .label = "starved", .unit = MetricUnit::text,
        .meaning = "Clients that had jobs in some run and finished none, separated by |; then averages over clients are empty."},
       starved_clients},
      {{.name = "percentiles", .label = "percentiles", .unit = MetricUnit::text,
        .meaning = "`lower-bound` where unfinished jobs could raise the median or p99, or a client was killed or refused or its program ended; else `rounded` beyond 4,194,304 jobs, or `exact`."},
       [](const PointSample& s) { return s.responses.kind(); }},
      {{.name = "p99_response_ns_most", .label = "p99 response at most", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "`p99_response_ns` if unfinished jobs never finished; empty: unbounded."},
       [](const PointSample& s) { return s.responses.most(0.99); }},
      {{.name = "understated", .label = "understated", .unit = MetricUnit::text,
        .meaning = "Clients of which jobs were killed or refused, whose programs ended, or whose unfinished jobs raise their mean NTT or are many, separated by |; then `antt` and `waiting_ns_mean` are lower bounds, `stp` is an upper one, and `dntt`, `jain` and `concurrency_efficiency` could be more or less."},
       understated_clients},
      {{.name = "evictions_by_gpu", .label = "evictions of each GPU", .unit = MetricUnit::text,
        .meaning = "Evictions per run on each of several GPUs, separated by |."},
       evictions_of_gpus, {}, "", [](const PointSample& s) { return !s.evictions_by_gpu.empty(); }}};
}

// A simulation has none of these: its scheduler is never late.
std::list<PointMetric> of_scheduler() {
  return {
      {{.name = "scheduler_late_ns_p50", .label = "median lateness of the scheduler", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "Median time from when something was due until the real-time scheduler handled it."},
       [](const PointSample& s) { return late(s, 0.5); }, {}, "", is_real_time},
      {{.name = "scheduler_late_ns_p99", .label = "p99 lateness of the scheduler", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "99th percentile of the same."},
       [](const PointSample& s) { return late(s, 0.99); }, {}, "", is_real_time},
      {{.name = "scheduler_late_ns_max", .label = "largest lateness of the scheduler", .unit = MetricUnit::ns, .better = Better::lower,
        .meaning = "Maximum of the same."},
       [](const PointSample& s) { return Cell(static_cast<double>(s.lateness->most().ns)); }, {}, "", is_real_time},
      {{.name = "scheduler_off_cpu", .label = "scheduler without a processor", .unit = MetricUnit::share, .better = Better::lower,
        .meaning = "Share of time in which the scheduler's thread had no processor."},
       [](const PointSample& s) { return Cell(std::round(s.lateness->off_cpu() * 1e4) / 1e4); }, {}, "", is_real_time},
      {{.name = "too_late", .label = "too late", .unit = MetricUnit::text,
        .meaning = "`yes` where that 99th percentile is above a twentieth of the shortest job's time alone, else `no`."},
       is_too_late, {}, "", is_real_time}};
}
// clang-format on

}  // namespace

template <>
std::list<PointMetric> Metrics<PointMetric>::usual() {
  std::list<PointMetric> all = of_turnaround();
  all.splice(all.end(), of_jobs());
  all.splice(all.end(), of_scheduler());
  return all;
}

template <>
std::source_location Metrics<PointMetric>::place_of_usual() {
  return std::source_location::current();
}

}  // namespace gangway

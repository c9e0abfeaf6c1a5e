#include "models/metrics/replication.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gangway {

void ReplicationMeter::job(const JobResult& result) {
  Sums& sums = clients_[result.id.client.index];
  sums.first = std::min(sums.first, result.arrival);
  if (!result.finish) return responses_[result.id.client.index].add_unfinished(result.age());
  const auto response = static_cast<double>(result.response().ns);
  sums.ntt += result.ntt();
  sums.response += response;
  sums.waiting += static_cast<double>(result.waiting().ns);
  sums.standalone += static_cast<double>(result.standalone.ns);
  sums.evictions += result.evictions;
  sums.eviction_delay += static_cast<double>(result.eviction_delay.ns);
  ++sums.jobs;
  ++sums.run_jobs;
  sums.run_standalone += static_cast<double>(result.standalone.ns);
  sums.last = std::max(sums.last, *result.finish);
  responses_[result.id.client.index].add_finished(result.response());
}

void ReplicationMeter::run_over(const RunTotals& totals) {
  for (std::size_t client = 0; client < clients_.size(); ++client) {
    Sums& sums = clients_[client];
    if (sums.run_jobs == 0) {
      ++sums.starved_runs;
    } else {
      // A program at its own pace has a pause behind each job but the last.
      const auto jobs = static_cast<double>(sums.run_jobs);
      const double pause =
          std::max(0.0, static_cast<double>(between_finishes_[client].ns) - sums.run_standalone / jobs);
      sums.time_per_job += (static_cast<double>((sums.last - sums.first).ns) + pause) / jobs;
      ++sums.runs;
    }
    sums.first = Time::max();
    sums.last = {};
    sums.run_standalone = 0;
    sums.run_jobs = 0;
  }
  makespan_ += static_cast<double>(totals.makespan().ns);
  utilisation_ += totals.utilisation();
  eviction_delay_ += static_cast<double>(totals.eviction_delay.ns);
  evictions_ += totals.evictions;
  launches_ += totals.launches;
  unfinished_ += totals.unfinished;
  ++runs_;
}

ReplicationMetrics ReplicationMeter::metrics() const {
  ReplicationMetrics m;
  std::vector<double> ntts;
  std::vector<double> speeds;
  double waiting = 0;
  bool starved = false;
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t client = 0; client < clients_.size(); ++client) {
    const Sums& sums = clients_[client];
    ClientAverages& c = m.clients.emplace_back();
    c.unfinished = responses_[client].unfinished();
    c.starved_runs = sums.starved_runs;
    starved = starved || c.starved();
    if (sums.jobs == 0) continue;
    const auto n = static_cast<double>(sums.jobs);
    c = {sums.ntt / n,
         sums.response / n,
         sums.waiting / n,
         static_cast<double>(sums.evictions) / n,
         sums.standalone / n,
         sums.time_per_job / static_cast<double>(sums.runs),
         sums.evictions > 0 ? sums.eviction_delay / static_cast<double>(sums.evictions) : none,
         sums.jobs,
         c.unfinished,
         c.starved_runs};
    ntts.push_back(c.ntt);
    speeds.push_back(1 / c.ntt);
    m.stp += 1 / c.ntt;
    m.concurrency_efficiency += static_cast<double>(between_finishes_[client].ns) / c.time_per_job_ns;
    m.jobs += sums.jobs;
    waiting += sums.waiting;
  }
  m.antt = mean(ntts);
  m.dntt = deviation(ntts, sample_sigma_);
  m.jain = jain(speeds);
  m.waiting_ns = waiting / static_cast<double>(m.jobs);
  if (starved) m.antt = m.dntt = m.stp = m.jain = m.waiting_ns = m.concurrency_efficiency = none;
  const auto runs = static_cast<double>(runs_);
  m.makespan_ns = makespan_ / runs;
  m.utilisation = utilisation_ / runs;
  m.evictions = static_cast<double>(evictions_) / runs;
  m.launches = static_cast<double>(launches_) / runs;
  m.eviction_delay_ns = eviction_delay_;
  m.eviction_count = evictions_;
  m.unfinished = unfinished_;
  return m;
}

}  // namespace gangway

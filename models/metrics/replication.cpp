#include "models/metrics/replication.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gangway {
namespace {

// What the end of a run always cuts off is no news: a job, or a share that moves no mean by more than counts
// as a tie (published.hpp).
constexpr double kNoNews = 0.05;

// Of one client.
struct FinishedAndNot {
  std::int64_t finished = 0, unfinished = 0, usual = 0;  // the latter: unfinished whenever runs end
  bool lost = false;                                     // any of the unfinished

  // So many that means of those finished say little.
  bool many() const {
    return unfinished > usual &&
           static_cast<double>(unfinished) > kNoNews * static_cast<double>(finished + unfinished);
  }
};

// The mean of the values of finished jobs, `sum` in all, or its lower bound with the least values of all
// others, `least` in all. Returns whether it is a bound: what is lost never gets a value, so that any mean
// is.
bool take_mean(double& mean, double sum, double least, const FinishedAndNot& jobs, double tolerance) {
  mean = sum / static_cast<double>(jobs.finished);
  const double bound = (sum + least) / static_cast<double>(jobs.finished + jobs.unfinished);
  if (jobs.lost) {
    mean = std::max(mean, bound);
    return true;
  }
  if (!jobs.many() && !(bound > mean * (1 + tolerance))) return false;
  mean = bound;
  return true;
}

double ratio(Duration whole, std::int64_t parts) {
  return static_cast<double>(whole.ns) / static_cast<double>(parts);
}

}  // namespace

void ReplicationMeter::job(const JobResult& result) {
  Sums& sums = clients_[result.id.client.index];
  Run& run = sums.run;
  run.first = std::min(run.first, result.arrival);
  run.latest = std::max(run.latest, result.arrival);
  run.last_over = std::max(run.last_over, result.over);
  ++run.released;
  const auto standalone = static_cast<double>(result.standalone.ns);
  if (!result.finish) {
    const auto age = static_cast<double>(result.age().ns);
    sums.unfinished.age += age;
    sums.unfinished.waited += age - static_cast<double>((result.executing + result.copying).ns);
    if (standalone > 0) sums.unfinished.ntt += age / standalone;
    ResponseTimes& responses = responses_[result.id.client.index];
    if (!is_lost(result.outcome)) return responses.add_unfinished(result.age());
    run.lost = sums.lost = true;
    return responses.add_lost(result.age());
  }
  const auto response = static_cast<double>(result.response().ns);
  sums.ntt += result.ntt();
  sums.response += response;
  sums.waiting += static_cast<double>(result.waiting().ns);
  sums.standalone += standalone;
  sums.evictions += result.evictions;
  sums.eviction_delay += static_cast<double>(result.eviction_delay.ns);
  ++sums.jobs;
  ++run.jobs;
  run.standalone += standalone;
  run.last_finish = std::max(run.last_finish, *result.finish);
  responses_[result.id.client.index].add_finished(result.response());
}

void ReplicationMeter::end_run(Sums& sums, const ClientPace& alone, Time end) {
  const Run run = std::exchange(sums.run, {});
  if (run.released == 0) return;  // it had no chance to finish anything
  if (run.jobs == 0) {
    ++sums.starved_runs;
    return;
  }
  const auto jobs = static_cast<double>(run.jobs);
  auto between = static_cast<double>(alone.between_finishes.ns);
  if (alone.scheduled && run.released > 1)
    between = std::max(between, ratio(run.latest - run.first, run.released - 1));
  // There is a pause behind each job but the last, or the last of those that it has at once: it thinks while
  // others of them run.
  const double job = alone.job ? static_cast<double>(alone.job->ns) : run.standalone / jobs;
  const auto others = static_cast<double>((run.jobs - 1) % alone.in_flight);
  const double pause = std::max(0.0, between - job + others * static_cast<double>(alone.idle.ns));
  sums.time_per_job += (static_cast<double>((run.last_finish - run.first).ns) + pause) / jobs;
  const Time over = std::max({run.last_finish, run.last_over, run.lost ? end : Time{}});
  sums.time_per_job_to_end += ratio(over - run.first, run.jobs);
  sums.between_finishes += between;
  ++sums.runs;
}

void ReplicationMeter::run_over(const RunTotals& totals) {
  for (std::size_t client = 0; client < clients_.size(); ++client)
    end_run(clients_[client], alone_[client], totals.end);
  if (totals.makespan() > Duration{}) {
    makespan_ += static_cast<double>(totals.makespan().ns);
    utilisation_ += totals.utilisation();
    ++windows_;
  }
  eviction_delay_ += static_cast<double>(totals.eviction_delay.ns);
  evictions_ += totals.evictions;
  launches_ += totals.launches;
  unfinished_ += totals.unfinished;
  ++runs_;
}

ClientAverages ReplicationMeter::averages(std::size_t client) const {
  const Sums& sums = clients_[client];
  ClientAverages c;
  c.unfinished = responses_[client].unfinished();
  c.starved_runs = sums.starved_runs;
  if (sums.jobs == 0) return c;
  const auto n = static_cast<double>(sums.jobs);
  c.jobs = sums.jobs;
  const FinishedAndNot jobs{c.jobs, c.unfinished, alone_[client].in_flight * (sums.runs + sums.starved_runs),
                            sums.lost};
  c.least_ntt = take_mean(c.ntt, sums.ntt, sums.unfinished.ntt, jobs, kNoNews);
  c.least_response = take_mean(c.response_ns, sums.response, sums.unfinished.age, jobs, kNoNews);
  c.waiting_ns = sums.waiting / n;
  if (c.least_ntt || c.least_response)
    c.least_waiting = take_mean(c.waiting_ns, sums.waiting, sums.unfinished.waited, jobs, 0);
  c.evictions = static_cast<double>(sums.evictions) / n;
  c.standalone_ns = sums.standalone / n;
  const auto runs = static_cast<double>(sums.runs);
  c.time_per_job_ns = sums.time_per_job / runs;
  if (c.understated()) c.time_per_job_ns = std::max(c.time_per_job_ns, sums.time_per_job_to_end / runs);
  c.between_finishes_ns = sums.between_finishes / runs;
  c.eviction_delay_ns = sums.evictions > 0 ? sums.eviction_delay / static_cast<double>(sums.evictions)
                                           : std::numeric_limits<double>::quiet_NaN();
  return c;
}

ReplicationMetrics ReplicationMeter::metrics() const {
  ReplicationMetrics m;
  std::vector<double> ntts;
  std::vector<double> speeds;
  double waiting = 0;
  std::int64_t waited = 0;  // jobs that it is of
  bool starved = false;
  for (std::size_t client = 0; client < clients_.size(); ++client) {
    const ClientAverages& c = m.clients.emplace_back(averages(client));
    starved = starved || c.starved();
    if (c.jobs == 0) continue;
    ntts.push_back(c.ntt);
    speeds.push_back(1 / c.ntt);
    m.stp += 1 / c.ntt;
    m.concurrency_efficiency += c.between_finishes_ns / c.time_per_job_ns;
    m.jobs += c.jobs;
    const std::int64_t counted = c.jobs + (c.least_waiting ? c.unfinished : 0);
    waiting += c.waiting_ns * static_cast<double>(counted);
    waited += counted;
  }
  m.antt = mean(ntts);
  // A sample of one has no deviation.
  m.dntt = sample_sigma_ && ntts.size() < 2 ? std::numeric_limits<double>::quiet_NaN()
                                            : deviation(ntts, sample_sigma_);
  m.jain = jain(speeds);
  m.waiting_ns = waiting / static_cast<double>(waited);
  if (starved)
    m.antt = m.dntt = m.stp = m.jain = m.waiting_ns = m.concurrency_efficiency =
        std::numeric_limits<double>::quiet_NaN();
  const auto runs = static_cast<double>(runs_);
  m.makespan_ns = makespan_ / static_cast<double>(windows_);
  m.utilisation = utilisation_ / static_cast<double>(windows_);
  m.evictions = static_cast<double>(evictions_) / runs;
  m.launches = static_cast<double>(launches_) / runs;
  m.eviction_delay_ns = eviction_delay_;
  m.eviction_count = evictions_;
  m.unfinished = unfinished_;
  return m;
}

}  // namespace gangway

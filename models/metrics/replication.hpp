// One replication: all permutations of one seed. Averages per client first, then over clients (FRS paper, V
// and VI-C).
#pragma once

#include <utility>
#include <vector>

#include "models/metrics/response_times.hpp"
#include "models/metrics/run_meter.hpp"
#include "models/metrics/statistics.hpp"

namespace gangway {

// How a client's jobs come and end with nothing else on the machine.
struct ClientPace {
  Duration between_finishes;   // as fast as it can; with its pauses, if it has them after each job
  bool scheduled = false;      // releases do not wait for finishes, so it cannot be faster than they come
  std::int64_t in_flight = 1;  // jobs that it always has, if it is not
  Duration idle = {};          // part of `between_finishes` in which no job keeps it busy
  // Of a job; none: as its results say, which differ between a recorded program's jobs, and may be of kernels
  // in a form that is not played.
  std::optional<Duration> job = {};
};

// Unfinished jobs are left out, unless they are more than 5 % of its jobs and than it always has, or counting
// each with what is known of it raises the mean by more than 5 %: then each counts so, the client is
// understated, and those means are lower bounds. So it is if a job is lost (is_lost()), as that never gets a
// response; then each counts only where that raises the mean.
struct ClientAverages {
  double ntt = 0;
  double response_ns = 0;
  double waiting_ns = 0;
  double evictions = 0;  // per job
  double standalone_ns = 0;
  // First release to last finish, per finished job, averaged over runs; if understated, to the end of the
  // run.
  double time_per_job_ns = 0;
  double between_finishes_ns = 0;  // alone, averaged over runs
  double eviction_delay_ns = 0;    // per eviction; NaN if there was none
  std::int64_t jobs = 0;           // finished
  std::int64_t unfinished = 0;
  std::int64_t starved_runs = 0;  // runs in which it had jobs and finished none
  bool least_ntt = false, least_response = false, least_waiting = false;  // lower bounds

  bool starved() const { return starved_runs > 0; }
  bool understated() const { return least_ntt; }
};

// Averages over clients, or over all clients' jobs, are NaN if a client starved: otherwise the others would
// look better the worse it fares. If one is understated, they follow from its bounds. A client to which
// nothing was released is not in them.
struct ReplicationMetrics {
  std::vector<ClientAverages> clients;
  double antt = 0, dntt = 0, stp = 0, jain = 0;  // NaN: a client starved
  double makespan_ns = 0, utilisation = 0;       // means over runs with a window; NaN: none has one
  double evictions = 0, launches = 0;            // per run
  double eviction_delay_ns = 0;                  // summed
  std::int64_t eviction_count = 0;
  double waiting_ns = 0;  // mean over finished jobs, and those counted in lower bounds; NaN: a client starved
  // Sum over clients of (time between finishes alone) / (time per job when sharing) (NEON paper, section 5).
  // NaN: a client starved.
  double concurrency_efficiency = 0;
  std::int64_t jobs = 0, unfinished = 0;

  bool empty() const { return jobs == 0 && unfinished == 0; }  // nothing was released: no averages
};

// Receives the jobs and totals of one run after the other.
class ReplicationMeter : public JobSink {
 public:
  // `alone`: by client.
  ReplicationMeter(std::vector<ClientPace> alone, bool sample_sigma)
      : alone_(std::move(alone)),
        clients_(alone_.size()),
        sample_sigma_(sample_sigma),
        responses_(alone_.size()) {}

  void job(const JobResult& result) override;
  void run_over(const RunTotals& totals);
  ReplicationMetrics metrics() const;
  const std::vector<ResponseTimes>& responses() const { return responses_; }  // by client

 private:
  // Of unfinished jobs, as far as it is known.
  struct Unfinished {
    double ntt = 0, age = 0, waited = 0;
  };
  struct Run {
    Time first = Time::max(), latest;  // release
    Time last_finish, last_over;       // the latter: finished or not
    double standalone = 0;             // of finished jobs
    std::int64_t jobs = 0, released = 0;
    bool lost = false;  // a job was (is_lost())
  };
  struct Sums {
    double ntt = 0, response = 0, waiting = 0, standalone = 0;
    double time_per_job = 0, time_per_job_to_end = 0, between_finishes = 0;
    double eviction_delay = 0;
    std::int64_t evictions = 0, jobs = 0, runs = 0, starved_runs = 0;
    bool lost = false;  // in any run
    Unfinished unfinished;
    Run run;  // the current one
  };
  static void end_run(Sums& sums, const ClientPace& alone, Time end);
  ClientAverages averages(std::size_t client) const;
  std::vector<ClientPace> alone_;
  std::vector<Sums> clients_;
  bool sample_sigma_;
  std::vector<ResponseTimes> responses_;
  double makespan_ = 0, utilisation_ = 0, eviction_delay_ = 0;
  std::int64_t evictions_ = 0, launches_ = 0, runs_ = 0, unfinished_ = 0;
  std::int64_t windows_ = 0;  // runs that have one
};

}  // namespace gangway

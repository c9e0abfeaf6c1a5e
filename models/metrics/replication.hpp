// One replication: all permutations of one seed. Averages per client first, then over clients (FRS paper, V
// and VI-C).
#pragma once

#include <utility>
#include <vector>

#include "models/metrics/response_times.hpp"
#include "models/metrics/run_meter.hpp"
#include "models/metrics/statistics.hpp"

namespace gangway {

struct ClientAverages {
  double ntt = 0;
  double response_ns = 0;
  double waiting_ns = 0;
  double evictions = 0;  // per job
  double standalone_ns = 0;
  double time_per_job_ns = 0;    // first release to last finish, per finished job, averaged over runs
  double eviction_delay_ns = 0;  // per eviction; NaN if there was none
  std::int64_t jobs = 0;         // finished
  std::int64_t unfinished = 0;
  std::int64_t starved_runs = 0;  // runs in which it finished no job

  bool starved() const { return starved_runs > 0; }
};

// Averages over clients, or over all clients' jobs, are NaN if a client starved: otherwise the others would
// look better the worse it fares.
struct ReplicationMetrics {
  std::vector<ClientAverages> clients;
  double antt = 0, dntt = 0, stp = 0, jain = 0;  // NaN: a client starved
  double makespan_ns = 0, utilisation = 0;       // means over runs
  double evictions = 0, launches = 0;            // per run
  double eviction_delay_ns = 0;                  // summed
  std::int64_t eviction_count = 0;
  double waiting_ns = 0;  // mean over finished jobs; NaN: a client starved
  // Sum over clients of (time between finishes alone) / (time per job when sharing) (NEON paper, section 5).
  // NaN: a client starved.
  double concurrency_efficiency = 0;
  std::int64_t jobs = 0, unfinished = 0;
};

// Receives the jobs and totals of one run after the other.
class ReplicationMeter : public JobSink {
 public:
  // `between_finishes`: of each client alone.
  ReplicationMeter(std::vector<Duration> between_finishes, bool sample_sigma)
      : between_finishes_(std::move(between_finishes)),
        clients_(between_finishes_.size()),
        sample_sigma_(sample_sigma),
        responses_(between_finishes_.size()) {}

  void job(const JobResult& result) override;
  void run_over(const RunTotals& totals);
  ReplicationMetrics metrics() const;
  const std::vector<ResponseTimes>& responses() const { return responses_; }  // by client

 private:
  struct Sums {
    double ntt = 0, response = 0, waiting = 0, standalone = 0, time_per_job = 0;
    double eviction_delay = 0;
    std::int64_t evictions = 0, jobs = 0, runs = 0, starved_runs = 0;
    // Of the current run: the first release, the last finish, and what finished.
    Time first = Time::max(), last;
    double run_standalone = 0;
    std::int64_t run_jobs = 0;
  };
  std::vector<Duration> between_finishes_;
  std::vector<Sums> clients_;
  bool sample_sigma_;
  std::vector<ResponseTimes> responses_;
  double makespan_ = 0, utilisation_ = 0, eviction_delay_ = 0;
  std::int64_t evictions_ = 0, launches_ = 0, runs_ = 0, unfinished_ = 0;
};

}  // namespace gangway

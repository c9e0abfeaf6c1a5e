// Metrics of services, per client in one replication. Definitions: experiments/README.md, "Services".
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "models/metrics/run_meter.hpp"
#include "models/workload.hpp"

namespace gangway {

struct ServiceMetrics {
  std::optional<Duration> slo;  // latency objective of its jobs
  double weight = 1;
  // Jobs against that objective, over all runs. An unfinished job missed it if it was lost (is_lost()), or
  // older than the objective at the end of the run; else it is undecided.
  std::int64_t met = 0, missed = 0, undecided = 0;
  // Of all runs. A client that lost a job (is_lost()) has none of those that would have come later: what they
  // could change is a bound.
  std::int64_t released = 0;
  bool lost = false;
  // Means over runs with a window; NaN: none has one.
  double arrivals_per_s = 0;    // jobs released
  double throughput_per_s = 0;  // jobs finished
  double gpu_time_ns = 0;
  double gpu_share = 0;   // of all GPUs' time
  double queue_mean = 0;  // released, unfinished jobs, averaged over time
  // GPU time used over what its weight entitles it to; NaN: no GPU was used while it had a job.
  double share_against_weight = std::numeric_limits<double>::quiet_NaN();
  // Its speed, relative to alone, in its slowest and its fastest second: windows of 1 s, a tenth of a second
  // apart, in which it has a job for at least nine tenths of the time. Speed is the standalone time of its
  // jobs over the window, each job's spread over the GPU time that the client uses for it. Windows that an
  // unfinished job may run in are left out. Of all runs; NaN: no such window.
  double speed_in_1s_least = std::numeric_limits<double>::quiet_NaN();
  double speed_in_1s_most = std::numeric_limits<double>::quiet_NaN();
  std::int64_t queue_max = 0;  // of all runs

  // Of the decided jobs; none if there are none.
  std::optional<double> attainment() const {
    if (met + missed == 0) return std::nullopt;
    return static_cast<double>(met) / static_cast<double>(met + missed);
  }
};

// Receives one run after the other. Memory grows with released, unfinished jobs, and by 24 bytes for each
// tenth of a second of a run and client.
class ServiceMeter : public JobSink, public RunObserver {
 public:
  ServiceMeter(const std::vector<Client>& clients, std::int64_t gpus);

  void job(const JobResult& result) override;
  void released(JobId job, Time at) override;
  void over(ClientId client, Time at) override;
  void on_gpu(ClientId client, DeviceId gpu, Time at) override;
  void off_gpu(ClientId client, DeviceId gpu, Time at) override;
  void run_over(const RunTotals& totals);

  std::vector<ServiceMetrics> metrics() const;  // by client

 private:
  struct OnGpu {
    int launches = 0;  // with blocks there
    double since = 0;  // Gpu::even when the first came
  };
  struct OfRun {
    // ns, until its first job came or its last one was over.
    double used = 0, entitled = 0, with_a_job = 0;
    double in_system = 0;  // ns, summed over jobs
    std::int64_t arrivals = 0, finished = 0, jobs = 0;
    double since = 0;  // virtual_ when the first of these jobs came
    Time came;         // when it came
    std::vector<OnGpu> gpus;
    // By tenth of a second since the run's first release: at its beginning, and what its jobs did in it.
    std::vector<double> used_until, with_a_job_until, progress;
    std::map<std::uint32_t, double> used_at_release;  // by number, of jobs that are not over
    double used_at_finish = 0;                        // of the latest that is
    Time latest_finish;
    std::size_t known =
        std::numeric_limits<std::size_t>::max();  // tenths: an unfinished job begins behind them
  };
  struct OfClient {
    ServiceMetrics sums;
    double used = 0, entitled = 0;  // ns, over all runs
    OfRun run;
  };
  struct Gpu {
    std::int64_t clients = 0;  // with blocks there
    double even = 0;           // ns that each of them would have used if present all the time
    Time since;                // time of `even`
    double even_at(Time now) const;
    void advance(Time now);
  };
  void advance(Time now);
  double used(const OfClient& client, Time at) const;
  double with_a_job(const OfClient& client, Time at) const;
  void attribute(OfClient& client, const JobResult& result);
  void spread(OfClient& client, double from, double to, double standalone);
  void judge_seconds(OfClient& client) const;
  void leave(OfClient& client, OnGpu& on, Gpu& gpu);
  void settle(OfClient& client);
  OfClient& of(ClientId client) { return clients_[client.index]; }

  std::vector<OfClient> clients_;
  std::vector<Gpu> gpus_;
  std::int64_t windows_ = 0;  // runs that have one
  // Generalised processor sharing: virtual time grows with GPU time used, divided by the sum of weights of
  // clients with jobs (Parekh and Gallager 1993).
  double virtual_ = 0, weights_ = 0;
  std::int64_t busy_ = 0, with_jobs_ = 0;  // GPUs; clients
  Time now_;
  std::optional<Time> origin_;  // the first release
  std::size_t tenths_ = 0;      // that have begun since
};

}  // namespace gangway

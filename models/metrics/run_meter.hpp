// From the trace of one run to its jobs and totals. Memory grows with the jobs released and unfinished, not
// with the jobs run.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "models/trace.hpp"

namespace gangway {

enum class Outcome { unfinished, finished, killed, out_of_resources };
std::string name_of(Outcome outcome);

struct JobResult {
  JobId id;
  Time arrival;                // released
  std::optional<Time> start;   // first block of the first kernel
  std::optional<Time> finish;  // none: unfinished when the run ended
  Duration standalone;
  Duration executing;  // with blocks on any GPU, draining included
  Duration copying;    // the program's own copies
  std::int64_t evictions = 0;
  std::int64_t launches = 0;
  Duration eviction_delay;  // summed over evictions: from the order to the last block gone
  std::int32_t priority = 0;
  Outcome outcome = Outcome::unfinished;

  Duration response() const { return *finish - arrival; }
  Duration waiting() const { return response() - executing - copying; }
  // Normalised turnaround time (FRS paper, equation 3).
  double ntt() const { return static_cast<double>(response().ns) / static_cast<double>(standalone.ns); }
};

class JobSink {
 public:
  virtual ~JobSink() = default;
  virtual void job(
      const JobResult& result) = 0;  // jobs as they are over, unfinished ones at the end of the run
};

struct RunTotals {
  Time first_release = Time::max();
  Time last_finish;
  Duration executing;  // time with blocks of any kernel on a GPU, averaged over GPUs by utilisation()
  std::int64_t gpus = 1;
  std::int64_t evictions = 0;
  std::int64_t launches = 0;
  Duration eviction_delay;  // summed over evictions: from the order to the last block gone
  std::int64_t finished = 0;
  std::int64_t unfinished = 0;

  // First release to last finish; zero when nothing finished.
  Duration makespan() const { return finished > 0 ? last_finish - first_release : Duration{}; }
  double utilisation() const {
    const double all = static_cast<double>(gpus) * static_cast<double>(makespan().ns);
    return all > 0 ? static_cast<double>(executing.ns) / all : 0;
  }
};

class RunMeter : public TraceSink {
 public:
  RunMeter(std::size_t clients, JobSink& jobs, std::int64_t gpus = 1);
  void record(const Record& record) override;
  void reset();  // before the next run
  const RunTotals& totals() const { return totals_; }

 private:
  struct Launch {
    LaunchId id;
    Time since;  // with blocks of the job on some GPU
    JobId job = {};
    std::uint8_t gpu = 0;
  };
  struct Busy {  // with how many of something, and since when
    int count = 0;
    Time since;
    void begin(Time now) {
      if (count++ == 0) since = now;
    }
    // How long, if that was the last.
    Duration end(Time now) { return --count == 0 ? now - since : Duration{}; }
  };
  JobResult& job_of(const Record& record) {
    auto& jobs = open_[record.job.client.index];
    return jobs[record.job.number - jobs.front().id.number];
  }
  void launched(const Record& record);
  void started(const Record& record);
  void gone(const Record& record);
  void finish(const Record& record);
  void vanish(const Record& record);
  void over(const Record& record, Outcome outcome);

  std::vector<std::deque<JobResult>> open_;  // by client: jobs from the first that is unfinished
  JobSink* jobs_;
  RunTotals totals_;
  std::vector<Launch> on_device_;  // with blocks there
  std::vector<Busy> gpus_;         // with those
  std::optional<Launch> evict_ordered_;
  Duration last_eviction_delay_;
  std::vector<Busy> copying_;  // by client and direction: with its program's copies
};

}  // namespace gangway

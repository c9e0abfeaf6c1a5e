// Computes a run's jobs and totals from its trace. Memory grows with released, unfinished jobs only.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "models/trace.hpp"

namespace gangway {

enum class Outcome { unfinished, finished, killed, out_of_resources, program_ended };
std::string name_of(Outcome outcome);
// Whether it never finishes, however long the run; nor does its client have any job after it.
inline bool is_lost(Outcome outcome) {
  return outcome == Outcome::killed || outcome == Outcome::out_of_resources ||
         outcome == Outcome::program_ended;
}

struct JobResult {
  JobId id;
  Time arrival;                // released
  std::optional<Time> start;   // first block of the first kernel
  std::optional<Time> finish;  // none: unfinished
  Time over;                   // finished or lost; else the end of the run
  Duration standalone;
  Duration executing;  // with blocks on a GPU, including draining
  Duration copying;    // with the program's own copies under way and no blocks on a GPU
  std::int64_t evictions = 0;
  std::int64_t launches = 0;
  Duration eviction_delay;  // sum over evictions: from the order to the last block gone
  std::int32_t priority = 0;
  Outcome outcome = Outcome::unfinished;

  Duration response() const { return *finish - arrival; }
  Duration waiting() const { return response() - executing - copying; }
  // The response of a finished job; for others a lower bound.
  Duration age() const { return over - arrival; }
  // Normalised turnaround time (FRS paper, equation 3).
  double ntt() const { return static_cast<double>(response().ns) / static_cast<double>(standalone.ns); }
};

class JobSink {
 public:
  virtual ~JobSink() = default;
  // Receives jobs when they are over; unfinished ones at the end of the run.
  virtual void job(const JobResult& result) = 0;
};

// Is told during a run which clients have jobs, and which launches have blocks on GPUs. In real-time worlds a
// time may precede the previous one.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void released(JobId job, Time at) = 0;    // one more job
  virtual void over(ClientId client, Time at) = 0;  // one job less; not told at the end of the run
  virtual void on_gpu(ClientId client, DeviceId gpu, Time at) = 0;   // one more launch
  virtual void off_gpu(ClientId client, DeviceId gpu, Time at) = 0;  // one launch less
};

// A run's window: from its first release until its last job is over, or until the run ends if jobs are
// unfinished. Makespan and utilisation refer to it.
struct RunTotals {
  Time first_release = Time::max();
  Time end;            // of the window
  Duration executing;  // GPU time with blocks of any kernel, in the window, summed over GPUs
  std::int64_t gpus = 1;
  std::int64_t evictions = 0;
  std::int64_t launches = 0;
  Duration eviction_delay;  // sum over evictions: from the order to the last block gone
  std::int64_t finished = 0;
  std::int64_t unfinished = 0;

  // Zero if nothing was released.
  Duration makespan() const { return first_release < end ? end - first_release : Duration{}; }
  // Share of the window in which a GPU executes blocks, in [0, 1]; the mean of several GPUs. 0 for an empty
  // window.
  double utilisation() const {
    const double all = static_cast<double>(gpus) * static_cast<double>(makespan().ns);
    return all > 0 ? static_cast<double>(executing.ns) / all : 0;
  }
};

class RunMeter : public TraceSink {
 public:
  RunMeter(std::size_t clients, JobSink& jobs, std::int64_t gpus = 1);
  void tell(RunObserver* observer) { observer_ = observer; }  // from now on; null: nobody
  void record(const Record& record) override;
  void reset();  // before the next run
  const RunTotals& totals() const { return totals_; }
  // The evictions from this GPU.
  std::int64_t evictions_from(DeviceId gpu) const { return gpus_[gpu.index].evictions; }

 private:
  // A released, unfinished job.
  struct Open {
    JobResult result;
    int launches = 0;  // with blocks on a GPU
    int copies = 0;    // under way
    Time since;        // everything earlier is accounted for
    void account(Time now);
  };
  struct Launch {  // started and not gone
    LaunchId id;
    JobId job;
    std::uint8_t gpu = 0;
    bool on_device = false;
    std::optional<Time> evict_ordered = {};
    bool reported = false;  // as evicted, though blocks of it are still there
  };
  struct Eviction {
    LaunchId launch;
    Time ordered;
    std::optional<Duration> delay = {};  // once its last block is gone
  };
  struct Gpu {
    int launches = 0;  // with blocks on the GPU
    Time since;
    std::optional<Eviction> eviction;  // the last one ordered for the owning launch
    std::int64_t evictions = 0;
  };
  Open& open(JobId job) {
    auto& jobs = open_[job.client.index];
    return jobs[job.number - jobs.front().result.id.number];
  }
  JobResult& job_of(const Record& record) { return open(record.job).result; }
  void released(const Record& record);
  void launched(const Record& record);
  void started(const Record& record);
  void changed(const Record& record, bool on_device);
  void gone(const Record& record);
  void evict_ordered(const Record& record);
  void evicted(const Record& record);
  void add_delay(JobId job, Duration delay);
  void copies(const Record& record, int change);
  void vanish(const Record& record);
  void over(const Record& record, Outcome outcome);
  void ended(Time now);
  void arrive(Launch& launch, Time now);
  void depart(Launch& launch, Time now);

  std::vector<std::deque<Open>> open_;  // by client: jobs from the first unfinished one
  JobSink* jobs_;
  RunObserver* observer_ = nullptr;
  RunTotals totals_;
  std::vector<Launch> launches_;
  std::vector<Gpu> gpus_;
};

}  // namespace gangway

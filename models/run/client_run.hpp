// A client's program as it runs: when its jobs are released and where the current one stands.
#pragma once

#include <vector>

#include "models/run/request_times.hpp"
#include "models/workload.hpp"
#include "models/world.hpp"

namespace gangway {

// A kernel as one job runs it.
struct RunningKernel {
  JobId job;
  std::uint32_t index = 0;
  BlockCount block_tasks;
  Duration time;  // all block-tasks, undisturbed, this job's jitter included
};

// The factor on the times of a job's kernels.
double kernel_time_factor(const Jitter& jitter, const RunSeed& seed, JobId job);

class ClientRun {
 public:
  enum class Form { of_mechanism, original };  // of its kernels
  // Both references must outlive this object, and so must what the setup refers to.
  ClientRun(const WorldSetup& setup, ClientId id, Form form = Form::of_mechanism);

  // Begins a run: nothing released yet. `first` is the first release without jitter.
  void reset(const RunSeed& seed, Time first);

  const Client& client() const { return *client_; }
  ClientId id() const { return id_; }

  // When the next job is released, if the file (or the start of the run) says so by itself: by period,
  // releases or arrivals. Where a finish decides, that is after_finish().
  std::optional<Time> next_release();
  // Whether it has one to tell at once: of jobs that wait for nobody's finish and have no times of their own.
  bool has_release() const { return announced_ < at_first_; }
  std::optional<Time> after_finish(Time now);

  // A release is due, for which it was due at `due`: counted. Native clients' jobs need no more than that.
  // begin() starts the next job's program if none runs and one is released.
  void release(Time due);
  bool begin();
  void finish() { active_ = false; }

  // The client's priority for one of its jobs.
  std::int32_t priority_of(JobId job) const;

  // When the current job was due, which its objective for latency counts from; of clients that have one.
  Time released_at() const { return released_at_; }

  JobId job() const { return {id_, begun_ - 1}; }
  JobId last_released() const { return {id_, released_ - 1}; }
  std::uint32_t begun() const { return begun_; }
  std::uint32_t released() const { return released_; }
  std::uint32_t kernel() const { return kernel_; }
  void next_kernel() { ++kernel_; }
  // The current kernel of the current job.
  RunningKernel running() const;
  // What the host does before it submits that, this job's jitter included.
  Duration gap() const { return gaps_[kernel_]; }
  // Another time of a kernel in this job, its jitter included.
  Duration drawn(Duration nominal) const;
  bool kernels_left() const { return kernel_ < times_.size(); }
  // Every job has been begun, and no more will be released.
  bool over() const { return !more() && begun_ == scheduled_; }

 private:
  Time jittered(Time nominal, std::uint32_t release) const;
  Time next_due();  // of the next release, without jitter
  bool more() const { return !left_ && (!client_->repeat.jobs || scheduled_ < *client_->repeat.jobs); }
  // Whether a release at `due` is one too late for a client that leaves; then no more follow.
  bool leaves(Time due);

  const Client* client_;
  ClientId id_;
  const Jitter* jitter_;
  std::vector<Duration> nominal_;  // in their form
  std::vector<Duration> times_;    // of the current job
  std::vector<Duration> gaps_;     // likewise
  RunSeed seed_;
  Time first_;
  std::optional<RequestTimes> requests_;  // of clients with arrivals
  Time latest_;                           // releases never go back in time
  double factor_ = 1;                     // on the times of the current job
  std::uint32_t at_first_ = 0;            // jobs released without waiting for a finish, if finishes release
  std::uint32_t announced_ = 0;           // of those
  std::uint32_t scheduled_ = 0;           // releases decided so far, those included
  std::uint32_t released_ = 0;
  std::uint32_t begun_ = 0;
  std::uint32_t kernel_ = 0;
  bool active_ = false;
  bool left_ = false;
  std::vector<Time> due_;  // of jobs released; those from next_due_ on are not begun
  std::size_t next_due_ = 0;
  Time released_at_;
};

}  // namespace gangway

// The state of a client's program in a run: releases, and the progress of the current job.
#pragma once

#include <vector>

#include "models/run/request_times.hpp"
#include "models/workload.hpp"
#include "models/world.hpp"

namespace gangway {

// A kernel in one job.
struct RunningKernel {
  JobId job;
  std::uint32_t index = 0;
  BlockCount block_tasks;
  Duration time;  // for all block-tasks, undisturbed, with this job's jitter
};

// The jitter factor on a job's kernel times.
double kernel_time_factor(const Jitter& jitter, const RunSeed& seed, JobId job);

class ClientRun {
 public:
  enum class Form { of_mechanism, original };  // of its kernels
  // References, and what the setup refers to, must outlive this object.
  ClientRun(const WorldSetup& setup, ClientId id, Form form = Form::of_mechanism);

  // Begins a run with nothing released. `first`: the first release without jitter.
  void reset(const RunSeed& seed, Time first);

  const Client& client() const { return *client_; }
  ClientId id() const { return id_; }

  // The next release that the file or the run's start determines: by period, list or arrivals. If a finish
  // determines it, see after_finish().
  std::optional<Time> next_release();
  // Whether a release can be announced at once: of a job that waits for no finish and has no release time.
  bool has_release() const { return announced_ < at_first_; }
  std::optional<Time> after_finish(Time now);

  // Counts a release that was due at `due`. Native clients' jobs need nothing else. begin() starts the next
  // job's program if none runs and one is released.
  void release(Time due);
  bool begin();
  void finish() { active_ = false; }

  // The client's priority for one of its jobs.
  std::int32_t priority_of(JobId job) const;

  // When the current job was due; its latency objective counts from then.
  Time released_at() const { return released_at_; }

  JobId job() const { return {id_, begun_ - 1}; }
  JobId last_released() const { return {id_, released_ - 1}; }
  std::uint32_t begun() const { return begun_; }
  std::uint32_t released() const { return released_; }
  std::uint32_t kernel() const { return kernel_; }
  void next_kernel() { ++kernel_; }
  // The current kernel of the current job.
  RunningKernel running() const;
  // Host time before submitting that kernel, with this job's jitter.
  Duration gap() const { return gaps_[kernel_]; }
  // Applies this job's jitter to another kernel time.
  Duration drawn(Duration nominal) const;
  bool kernels_left() const { return kernel_ < times_.size(); }
  // Whether every job has begun and none will follow.
  bool over() const { return !more() && begun_ == scheduled_; }

 private:
  Time jittered(Time nominal, std::uint32_t release) const;
  Time next_due();  // of the next release, without jitter
  bool more() const { return !left_ && (!client_->repeat.jobs || scheduled_ < *client_->repeat.jobs); }
  std::optional<Time> next_at_first();  // of the jobs that wait for no finish
  // Whether a release at `due` is too late for a departing client. Unless it is the first, none follow.
  bool is_late(Time due) const;
  bool leaves(Time due);

  const Client* client_;
  ClientId id_;
  const Jitter* jitter_;
  std::vector<Duration> nominal_;  // in its form
  std::vector<Duration> times_;    // of the current job
  std::vector<Duration> gaps_;     // likewise
  RunSeed seed_;
  Time first_;
  std::optional<RequestTimes> requests_;  // of clients with arrivals
  Time latest_;                           // releases never go back in time
  double factor_ = 1;                     // on the times of the current job
  std::uint32_t at_first_ = 0;            // jobs released initially, if finishes release later ones
  std::uint32_t announced_ = 0;           // of those
  std::uint32_t scheduled_ = 0;           // releases decided so far, including those
  std::uint32_t released_ = 0;
  std::uint32_t begun_ = 0;
  std::uint32_t kernel_ = 0;
  bool active_ = false;
  bool left_ = false;
  std::vector<Time> due_;  // of released jobs; those from next_due_ on have not begun
  std::size_t next_due_ = 0;
  Time released_at_;
};

}  // namespace gangway

// The state machine of jobs and launches: the steps of a client's program (released, copied in, kernels,
// copied out, finished), the life of a launch (ordered, running, gone, reported), and what is refused. Each
// world feeds it with device events and carries out its requests, so all worlds share one definition of a
// job. No side effects; time is passed to each call.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/run/client_run.hpp"
#include "models/run/grants.hpp"
#include "models/run/job_book.hpp"
#include "models/run/launch.hpp"
#include "models/trace.hpp"

namespace gangway {

// Requests to the world.
class JobStage {
 public:
  // For the trace and the policy.
  virtual void note_record(const Record& record) = 0;
  virtual void tell_fact(const Fact& fact) = 0;
  // Both end the run with RunError: it cannot continue, or the policy gave an invalid order.
  [[noreturn]] virtual void stop_run(const std::string& what) const = 0;
  [[noreturn]] virtual void refuse_order(const std::string& what) const = 0;

  // Call release() when the client's next job is due. One at a time per client.
  virtual void release_at(ClientId client, Time due) = 0;
  // The program's copy before its first kernel, or after its last; then copied_in() or copied_out(). False if
  // there is nothing to copy.
  virtual bool copy_in(JobId job) = 0;
  virtual bool copy_out(JobId job) = 0;

  // Puts the launch on its GPU, or evicts it. The automaton owns it until its report.
  virtual void place(const Launch& launch) = 0;
  virtual void displace(const Launch& launch) = 0;

  // Whether the client's jobs go to the device's own queues. Told by release(); the automaton then takes no
  // further step.
  virtual bool released_to_device(JobId) { return false; }
  // Nothing of the job that holds the GPU is on it. Call idle() at that time if still so. Only with whole-job
  // grants.
  virtual void idle_at(DeviceId, Time) {}
  // Host time before the client's next kernel is eligible.
  virtual Duration host_gap(const ClientRun&) const { return {}; }
  // When the host has passed the kernel that has just ended.
  virtual Time host_free_at(ClientId, Time now) const { return now; }
  // The client's host thread waits until then: call host_free(). Only after the two calls above said so.
  virtual void resume_at(ClientId, Time) {}
  // A kernel of the job has ended: whether something else delays the program, until settled().
  virtual bool holds_up(JobId) { return false; }
  virtual void begin_to_settle(ClientId) {}
  // The job is about to finish; `late`: some time after its last Left.
  virtual void finishing(JobId, bool) {}

 protected:
  ~JobStage() = default;
};

class JobAutomaton {
 public:
  // References must outlive this object. `grants`: null if kernels are granted.
  JobAutomaton(const WorldSetup& setup, JobBook& book, Grants* grants, JobStage& stage);

  // A run begins with no released job and no launch. Requests first releases, in client order.
  void begin(const RunSeed& seed, std::span<const std::uint32_t> order);

  // --- Events of programs

  // A job of the client is released; it was due at `due`, now or earlier.
  void release(ClientId client, Time due, Time now);
  void copied_in(ClientId client, Time now);
  void copied_out(ClientId client, Time now);
  void host_free(ClientId client, Time now);  // see JobStage::resume_at()
  void settled(ClientId client, Time now);
  // A job in the device's own queues is over.
  void finished_on_device(JobId job, Time now);

  // --- Orders. Invalid ones are refused.

  // Launches `range` of the job's kernel, or all that is left; or grants the GPU. Returns the launch's id.
  LaunchId launch(JobId job, DeviceId gpu, const std::optional<BlockRange>& range, Time now);
  // Why the order can never be valid; empty if it can.
  std::string refusal(JobId job, DeviceId gpu, const std::optional<BlockRange>& range) const;
  void evict(LaunchId launch, Time now);

  // --- Events of launches

  // The first block began at `at`; `noted`: the device has already written that to the trace.
  void began(DeviceId gpu, Time at, bool noted = false);
  // The last block ended at `at`, with `tasks` block-tasks of the range done (0 if only the report tells).
  void ended(DeviceId gpu, Time at, BlockCount tasks = {});
  // The pending work was read: block-tasks of the range before `done` are done.
  void report(DeviceId gpu, BlockCount done, Time now);
  void idle(DeviceId gpu, Time now);  // see JobStage::idle_at()

  // --- State

  bool free(DeviceId gpu) const { return launches_[gpu.index].id.value == 0; }
  // The GPU must not be free.
  const Launch& on(DeviceId gpu) const { return launches_[gpu.index]; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(launches_.size()); }
  const ClientRun& client(ClientId id) const { return clients_[id.index]; }
  std::span<const ClientRun> clients() const { return clients_; }
  // An id for a launch not ordered through the automaton.
  LaunchId next_launch() { return {++launched_}; }
  // Consecutive launches without a finished block-task.
  std::uint32_t fruitless() const { return fruitless_; }
  // Forgets the launches on all GPUs.
  void abandon();

 private:
  void begin_job(ClientRun& client, Time now);
  void begin_kernels(ClientRun& client, Time now);
  void eligible(ClientRun& client, bool arrives, Time now);
  Time free_host(const ClientRun& client, Time now) const;
  void go_on(ClientRun& client, bool late, Time now);
  void finish_job(ClientRun& client, bool late, Time now);
  void count_fruitless(bool none);
  LaunchId place(JobId job, DeviceId gpu, BlockRange range, Time now);
  void displace(Launch& launch, Time now);
  void tell(const Fact& fact);
  void tell_left(const Launch& launch, Why why, BlockCount in_all, bool later, Time now);
  void submit(const ClientRun& client, Time now);
  void place_next(const Grant& grant, Time now);
  void end_grant(DeviceId gpu, Why why, bool waits);
  const std::string& name(JobId job) const;
  Record of(const Launch& launch, Mark mark, Time time, std::int64_t amount = 0) const;

  const Workload& workload_;
  const Duration idle_;  // after which a grant ends
  JobBook& book_;
  Grants* grants_;
  JobStage& stage_;
  std::vector<ClientRun> clients_;
  std::vector<std::int64_t> standalone_;  // ns, by client
  std::vector<Launch> launches_;          // by GPU; id 0: none
  std::vector<Time> idle_since_;          // by GPU: when the last kernel of its job ended
  std::vector<bool> opened_;              // by client: known to the policy
  std::vector<ClientId> exited_;          // departed clients that the policy is still to be told of
  std::uint64_t launched_ = 0;
  std::uint32_t fruitless_ = 0;
};

}  // namespace gangway

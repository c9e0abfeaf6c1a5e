// The automaton of jobs and launches: the steps of every client's program (released, copied in, kernels,
// copied out, finished) and the life of every launch (ordered, running, gone, reported), with what is refused
// on the way. Each world drives it with what happens on its device and carries out what it asks for, so all
// worlds agree on what a job is. Pure: time comes in with each call.
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

// What the automaton asks of its world.
class JobStage {
 public:
  // For the trace and for the policy.
  virtual void note_record(const Record& record) = 0;
  virtual void tell_fact(const Fact& fact) = 0;
  // Both end the run with RunError: it cannot go on, or the policy ordered what can never be right.
  [[noreturn]] virtual void stop_run(const std::string& what) const = 0;
  [[noreturn]] virtual void refuse_order(const std::string& what) const = 0;

  // The client's next job is due then: release(). One at a time for each client.
  virtual void release_at(ClientId client, Time due) = 0;
  // The program's own copy before its first kernel, or behind its last one; then copied_in() or copied_out().
  // Returns false where there is nothing to copy.
  virtual bool copy_in(JobId job) = 0;
  virtual bool copy_out(JobId job) = 0;

  // The launch, which is the automaton's until its report, goes to its GPU, or off it.
  virtual void place(const Launch& launch) = 0;
  virtual void displace(const Launch& launch) = 0;

  // Whether the client's jobs go to the device's own queues: release() tells it then, and the automaton takes
  // no further step.
  virtual bool released_to_device(JobId) { return false; }
  // Nothing of the job that holds the GPU is on it: idle() then, if that is still so. Only where whole jobs
  // are granted.
  virtual void idle_at(DeviceId, Time) {}
  // How long the host computes before the client's next kernel is eligible.
  virtual Duration host_gap(const ClientRun&) const { return {}; }
  // When the host has passed the kernel that is just over.
  virtual Time host_free_at(ClientId, Time now) const { return now; }
  // The client's host thread does not go on before: host_free() then. Only where these two said so.
  virtual void resume_at(ClientId, Time) {}
  // A kernel of the job is over: whether something else holds the program up, until settled().
  virtual bool holds_up(JobId) { return false; }
  virtual void begin_to_settle(ClientId) {}
  // The job is about to be finished; `late`: some time after its last Left.
  virtual void finishing(JobId, bool) {}

 protected:
  ~JobStage() = default;
};

class JobAutomaton {
 public:
  // All references must outlive this object. `grants`: null where kernels are granted.
  JobAutomaton(const WorldSetup& setup, JobBook& book, Grants* grants, JobStage& stage);

  // A run begins: no job is released, no launch is on a GPU; first releases are asked for, in client order.
  void begin(const RunSeed& seed, std::span<const std::uint32_t> order);

  // --- What happens to programs

  // A job of the client is released; it was due at `due`, now or before.
  void release(ClientId client, Time due, Time now);
  void copied_in(ClientId client, Time now);
  void copied_out(ClientId client, Time now);
  void host_free(ClientId client, Time now);  // see JobStage::resume_at()
  void settled(ClientId client, Time now);
  // A job that went to the device's own queues is over.
  void finished_on_device(JobId job, Time now);

  // --- Orders. What can never be right is refused.

  // What `range` says of the job's kernel, or all that is left of it where there is none; or a grant, whose
  // id is returned.
  LaunchId launch(JobId job, DeviceId gpu, const std::optional<BlockRange>& range, Time now);
  // Why the order to launch can never be right, or empty.
  std::string refusal(JobId job, DeviceId gpu, const std::optional<BlockRange>& range) const;
  void evict(LaunchId launch, Time now);

  // --- What happens to launches

  // Its first block ran at `at`; `noted`: the device has written that into the trace itself.
  void began(DeviceId gpu, Time at, bool noted = false);
  // Its last block ended at `at`, when `tasks` block-tasks of its range were done (0 where only the report
  // tells).
  void ended(DeviceId gpu, Time at, BlockCount tasks = {});
  // The pending work is read: of its range, the block-tasks before `done` are.
  void report(DeviceId gpu, BlockCount done, Time now);
  void idle(DeviceId gpu, Time now);  // see JobStage::idle_at()

  // --- What there is

  bool free(DeviceId gpu) const { return launches_[gpu.index].id.value == 0; }
  // Of a GPU that is not free.
  const Launch& on(DeviceId gpu) const { return launches_[gpu.index]; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(launches_.size()); }
  const ClientRun& client(ClientId id) const { return clients_[id.index]; }
  std::span<const ClientRun> clients() const { return clients_; }
  // An id for a launch that the automaton does not order.
  LaunchId next_launch() { return {++launched_}; }
  // Launches in a row that did no block-task.
  std::uint32_t fruitless() const { return fruitless_; }
  // Forgets what is on the GPUs.
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
  const Duration idle_;  // that ends a grant
  JobBook& book_;
  Grants* grants_;
  JobStage& stage_;
  std::vector<ClientRun> clients_;
  std::vector<std::int64_t> standalone_;  // ns, by client
  std::vector<Launch> launches_;          // by GPU; without an id: none
  std::vector<Time> idle_since_;          // by GPU: when the last kernel of the job that holds it was over
  std::vector<bool> opened_;              // by client: the policy knows of it
  std::vector<ClientId> exited_;          // of whom the policy will be told that they are gone
  std::uint64_t launched_ = 0;
  std::uint32_t fruitless_ = 0;
};

}  // namespace gangway

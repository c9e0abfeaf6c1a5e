// Grants of whole jobs: what policies know of the jobs, who holds which GPU, and what is refused. Whoever
// plays them says what happens; simulated and real worlds and the daemon agree here on what a grant is. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/policy.hpp"

namespace gangway {

struct Grant {
  LaunchId id = {};
  JobId job = {};
  DeviceId gpu = {};
  bool began = false;    // something of the job has run under it
  bool revoked = false;  // it ends as soon as nothing of the job is on the GPU
  Duration served = {};  // of the GPU, so far
};

class Grants : public View {
 public:
  // Places for so many clients. `channels`: as View says.
  Grants(std::size_t clients, std::uint32_t gpus, std::optional<std::int64_t> channels = std::nullopt);

  // What policies see of clients' memory; null: nothing.
  void show(const MemoryView* memory) { memory_ = memory; }

  // A run begins: no job is there.
  void reset();

  // A client takes the place; its jobs are of this `program`. The client that had it before must have left.
  void opens(ClientId client, std::uint32_t program);
  // It leaves: its grant, if it holds one, must have been ended.
  void exited(ClientId client);

  // The client's job can be granted from now on. Its `arrived` and `over` are set here.
  void arrived(JobFacts job, Time now);
  // The job, under way but without work for the GPU since its last grant ended, has some again.
  void returned(JobId job);
  // It is over before it could be granted again.
  void over(JobId job);

  // Why the order to launch can never be right, or empty.
  std::string refusal(JobId job, DeviceId gpu) const;
  Grant& give(LaunchId id, JobId job, DeviceId gpu);
  // Ends the grant on a GPU. `over`: the job is; `waits`: it can be granted again at once.
  Left end(DeviceId gpu, Why why, bool over, bool waits);

  // Null where there is none.
  Grant* on(DeviceId gpu);
  Grant* find(LaunchId id);
  Grant* of(ClientId client);
  bool waits(JobId job) const { return job_of(job.client).id == job && waiting_[job.client.index]; }
  // What the policy knows of the client's job in progress, or of its last one.
  const JobFacts& job_of(ClientId client) const { return jobs_[client.index]; }

 private:
  std::vector<bool> waiting_;  // by client: its job can be granted
  std::vector<Grant> held_;    // by GPU; without an id: none
};

}  // namespace gangway

// Grants of whole jobs, or of ranges of kernels that become known one by one: what policies know of jobs, who
// holds which GPU, and what is refused. The caller reports events; simulated worlds, real worlds and the
// daemon thus share one definition of a grant. No side effects.
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
  bool began = false;    // some of the job has run under it
  bool revoked = false;  // ends as soon as nothing of the job is on the GPU
  Duration served = {};  // GPU time so far
};

class Grants : public View {
 public:
  // Places for `clients`. `channels`: as in View.
  Grants(std::size_t clients, std::uint32_t gpus, std::optional<std::int64_t> channels = std::nullopt,
         GrantOf of = GrantOf::job);

  // What policies see of clients' memory; null: nothing.
  void show(const MemoryView* memory) { memory_ = memory; }
  // A run begins without jobs.
  void reset();

  // A client takes the place; its jobs belong to `program`. The previous client must have left.
  void opens(ClientId client, std::uint32_t program);
  // The client leaves. Its grant, if any, must have ended.
  void exited(ClientId client);

  // The client's job can be granted from now on. Sets its `arrived` and `over`.
  void arrived(JobFacts job, Time now);
  // The client's current or next job, if kernels are granted: its kernel among those known so far, and how
  // much of that is done. The vector stays as it is until the next call.
  void kernel(ClientId client, const std::vector<KernelFacts>& kernels, std::uint32_t kernel,
              BlockCount done);
  // A job under way has work for the GPU again after its last grant ended.
  void returned(JobId job);
  // The job ended before it could be granted again.
  void over(JobId job);

  // Why the launch order can never be valid; empty if it can.
  std::string refusal(JobId job, DeviceId gpu) const;
  Grant& give(LaunchId id, JobId job, DeviceId gpu);
  // Ends the grant on a GPU. `over`: the job is; `waits`: it can be granted again at once.
  Left end(DeviceId gpu, Why why, bool over, bool waits);

  // Null if there is none.
  Grant* on(DeviceId gpu);
  Grant* find(LaunchId id);
  Grant* of(ClientId client);
  bool waits(JobId job) const { return job_of(job.client).id == job && waiting_[job.client.index]; }
  // The policy's knowledge of the client's current or last job.
  const JobFacts& job_of(ClientId client) const { return jobs_[client.index]; }

 private:
  std::vector<bool> waiting_;  // by client: its job can be granted
  std::vector<Grant> held_;    // by GPU; id 0: none
};

}  // namespace gangway

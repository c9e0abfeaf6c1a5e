// What every world keeps of the jobs it plays, whatever it plays them on.
#pragma once

#include <vector>

#include "models/policy.hpp"
#include "models/world.hpp"

namespace gangway {

// The jobs as policies see them.
class JobBook : public View {
 public:
  explicit JobBook(const WorldSetup& setup);
  void reset();  // a run begins: no job can be launched before it has arrived
  // `priority`: the client's, for this job; `released`: when it was due.
  void arrived(JobId job, Time now, std::int32_t priority, Time released);
  JobFacts& of(JobId job) { return jobs_[job.client.index]; }
  void set_memory(const MemoryView* memory) { memory_ = memory; }
  // Why these block-tasks of the job cannot be launched there, or empty. Only what is the policy's fault.
  std::string refusal(JobId job, DeviceId gpu, BlockRange range) const;
  // The block-tasks from the work done to the end of the job's current kernel; none of a job that is not
  // eligible.
  BlockRange rest(JobId job) const;
  // A launch has these block-tasks of the current kernel from now on ...
  void launched(JobId job, BlockRange range);
  // ... and leaves, with those before `done` done. Returns whether that was the last of the kernel; the next
  // one is current then.
  bool left(JobId job, BlockRange range, BlockCount done);

 private:
  const Workload* workload_;
  std::vector<std::vector<KernelFacts>> kernels_;
  std::vector<BlockSet> taken_;  // by client: of the current kernel, launched or done; on several GPUs
};

// A client's job alone: its copies and its kernels in the form that the experiment calls standalone.
Duration standalone_of(const WorldSetup& setup, const Client& client);

// From one finish to the next of a client alone that never thinks: its standalone time, but with several
// frames in flight, which share the device and the host, the time for which a job keeps the busier of these.
Duration between_finishes(const WorldSetup& setup, const Client& client);

// When a client's first job is released, without jitter: by its position in the order of arrival, or as it
// says itself.
Time first_release(const Workload& workload, const Client& client, std::size_t position);

// Brings the facts of one instant into the order in which they are told: by kind, then by client.
void sort_for_telling(std::vector<Fact>& facts);

}  // namespace gangway

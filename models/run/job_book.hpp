// A world's record of the jobs that it plays.
#pragma once

#include <vector>

#include "models/policy.hpp"
#include "models/world.hpp"

namespace gangway {

// The jobs as policies see them.
class JobBook : public View {
 public:
  explicit JobBook(const WorldSetup& setup);
  void reset();  // a run begins: no job can be launched before it arrives
  // `priority`: the client's, for this job; `released`: when it was due.
  void arrived(JobId job, Time now, std::int32_t priority, Time released);
  JobFacts& of(JobId job) { return jobs_[job.client.index]; }
  void set_memory(const MemoryView* memory) { memory_ = memory; }
  // Why the policy must not launch these block-tasks there; empty if it may.
  std::string refusal(JobId job, DeviceId gpu, BlockRange range) const;
  // Block-tasks from the work done to the end of the job's current kernel; none if the job is not eligible.
  BlockRange rest(JobId job) const;
  // These block-tasks of the current kernel belong to a launch from now on ...
  void launched(JobId job, BlockRange range);
  // ... which leaves with those before `done` finished. Returns whether the kernel is complete; the next one
  // is then current.
  bool left(JobId job, BlockRange range, BlockCount done);

 private:
  const Workload* workload_;
  std::vector<std::vector<KernelFacts>> kernels_;
  std::vector<BlockSet> taken_;  // by client: launched or done parts of the current kernel; on several GPUs
};

// The form of kernels that times alone count.
enum class CountedForm { standalone, original };  // as the experiment's `standalone` says; as in the file

// A client's job alone: copies, and kernels. With several jobs in flight it also waits for those before it.
Duration standalone_of(const WorldSetup& setup, const Client& client,
                       CountedForm form = CountedForm::standalone);

// The pace of a client alone that begins jobs as soon as it can. Both are means of many jobs.
struct PaceAlone {
  // Its job's time, without several in flight. With several, which share device and host, the time for which
  // a job keeps the busier of the two; more if it thinks longer than the others take.
  Duration between_finishes;
  Duration idle;  // part of it in which no job of the client is there or keeps the busier of the two
};
PaceAlone pace_alone(const WorldSetup& setup, const Client& client, CountedForm form);

// A client's first release without jitter: by its position in arrival order, or its own setting.
Time first_release(const Workload& workload, const Client& client, std::size_t position);

// Sorts the facts of one instant for telling: by kind, then by client.
void sort_for_telling(std::vector<Fact>& facts);

}  // namespace gangway

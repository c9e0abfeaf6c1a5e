#include "models/policy/estimates.hpp"

namespace gangway {

Parameter Estimates::parameter() {
  return {"time_per_task", "time per block-task: as declared, or learnt whenever a kernel leaves the GPU",
          Parameter::Choice{{"given", "learnt"}}};
}

void Estimates::saw(ClientId client, std::uint32_t kernel, Duration elapsed, BlockCount tasks) {
  if (!learn_) return;
  if (seen_.size() <= client.index) seen_.resize(client.index + 1);
  auto& kernels = seen_[client.index];
  if (kernels.size() <= kernel) kernels.resize(kernel + 1);
  kernels[kernel].elapsed += elapsed;
  kernels[kernel].tasks = kernels[kernel].tasks + tasks;
}

Duration Estimates::of(const JobFacts& job, std::uint32_t kernel, BlockCount tasks) const {
  const std::uint32_t client = job.id.client.index;
  if (learn_ && client < seen_.size() && kernel < seen_[client].size())
    if (const Seen& seen = seen_[client][kernel]; seen.tasks.count > 0)
      return {mul_div_floor(tasks.count, seen.elapsed.ns, seen.tasks.count)};
  const KernelFacts& facts = job.kernels[kernel];
  if (tasks == facts.block_tasks) return facts.declared;
  return {mul_div_floor(tasks.count, facts.declared.ns, facts.block_tasks.count)};
}

Duration Estimates::sum(const JobFacts& job, std::uint32_t kernel) const {
  Duration sum;
  for (std::uint32_t k = kernel; k < job.kernels.size(); ++k) sum += of(job, k, job.kernels[k].block_tasks);
  return sum;
}

Estimates::Sums& Estimates::declared(const JobFacts& job) const {
  Sums& sums = declared_[job.id.client.index % declared_.size()];
  if (sums.program != job.kernels.data()) {
    const Duration total = declared_total(job);
    sums = {job.kernels.data(), total, 0, total};
  }
  return sums;
}

Duration Estimates::total(const JobFacts& job) const { return learn_ ? sum(job, 0) : declared(job).total; }

Duration Estimates::left(const JobFacts& job) const {
  if (job.finished()) return {};
  const std::uint32_t next = job.kernel + 1;
  if (learn_) return of(job, job.kernel, job.current().block_tasks - job.done) + sum(job, next);
  Sums& sums = declared(job);
  if (sums.job == job.id && sums.at == job.kernel && sums.done == job.done) return sums.left;
  if (next < sums.kernel) sums = {sums.program, sums.total, 0, sums.total};  // the client's next job
  for (; sums.kernel < next; ++sums.kernel) sums.from = sums.from - job.kernels[sums.kernel].declared;
  sums.job = job.id;
  sums.at = job.kernel;
  sums.done = job.done;
  sums.left = of(job, job.kernel, job.current().block_tasks - job.done) + sums.from;
  return sums.left;
}

Duration declared_total(const JobFacts& job) {
  Duration sum;
  for (const KernelFacts& kernel : job.kernels) sum += kernel.declared;
  return sum;
}

}  // namespace gangway

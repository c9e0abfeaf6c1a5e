#include "models/policy/estimates.hpp"

#include <algorithm>

namespace gangway {

Parameter Estimates::parameter() {
  return {"time_per_task", "time per block-task: as declared, or learnt whenever a kernel leaves the GPU",
          Parameter::Choice{{"given", "learnt"}}};
}

void Estimates::saw(const JobFacts& job, std::uint32_t kernel, Duration elapsed, BlockCount tasks) {
  if (!learn_ && job.kernels[kernel].declared) return;
  const std::uint32_t client = job.id.client.index;
  if (seen_.size() <= client) seen_.resize(client + 1);
  auto& kernels = seen_[client];
  if (kernels.size() <= kernel) kernels.resize(kernel + 1);
  kernels[kernel].elapsed += elapsed;
  kernels[kernel].tasks = kernels[kernel].tasks + tasks;
}

void Estimates::finished(std::uint32_t number, Duration served) {
  if (programs_.size() <= number) programs_.resize(number + 1);
  Program& program = programs_[number];
  if (program.latest.size() < kLatest)
    program.latest.push_back(served);
  else
    program.latest[program.next++ % kLatest] = served;
  std::array<Duration, kLatest> sorted;
  const auto end = std::copy(program.latest.begin(), program.latest.end(), sorted.begin());
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  program.median = *middle;
}

Duration Estimates::usual(std::uint32_t program) const {
  return program < programs_.size() ? programs_[program].median : Duration{};
}

Duration Estimates::whole(const JobFacts& job) const {
  const bool seen = job.program < programs_.size() && !programs_[job.program].latest.empty();
  return job.work.alone && !(learn_ && seen) ? *job.work.alone : usual(job.program);
}

Duration Estimates::of(const JobFacts& job, std::uint32_t kernel, BlockCount tasks) const {
  const std::uint32_t client = job.id.client.index;
  const KernelFacts& facts = job.kernels[kernel];
  if ((learn_ || !facts.declared) && client < seen_.size() && kernel < seen_[client].size())
    if (const Seen& seen = seen_[client][kernel]; seen.tasks.count > 0)
      return {mul_div_floor(tasks.count, seen.elapsed.ns, seen.tasks.count)};
  const Duration declared = facts.declared.value_or(Duration{});
  if (tasks == facts.block_tasks) return declared;
  return {mul_div_floor(tasks.count, declared.ns, facts.block_tasks.count)};
}

Duration Estimates::sum(const JobFacts& job, std::uint32_t kernel) const {
  Duration sum;
  for (std::uint32_t k = kernel; k < job.kernels.size(); ++k) sum += of(job, k, job.kernels[k].block_tasks);
  return sum;
}

Estimates::Sums& Estimates::declared(const JobFacts& job) const {
  Sums& sums = declared_[job.id.client.index % declared_.size()];
  if (sums.program != job.kernels.data()) {
    const Duration total = *job.work.alone;
    sums = {job.kernels.data(), total, 0, total};
  }
  return sums;
}

Duration Estimates::total(const JobFacts& job) const {
  if (!by_kernel(job)) return whole(job);
  return adds_up(job) ? sum(job, 0) : *job.work.alone;
}

Duration Estimates::left(const JobFacts& job) const {
  if (job.finished()) return {};
  if (!by_kernel(job)) return std::max(Duration{}, whole(job) - job.work.served);
  const std::uint32_t next = job.kernel + 1;
  if (adds_up(job)) return of(job, job.kernel, job.current().block_tasks - job.done) + sum(job, next);
  Sums& sums = declared(job);
  if (sums.job == job.id && sums.at == job.kernel && sums.done == job.done) return sums.left;
  if (next < sums.kernel) sums = {sums.program, sums.total, 0, sums.total};  // the client's next job
  for (; sums.kernel < next; ++sums.kernel) sums.from = sums.from - *job.kernels[sums.kernel].declared;
  sums.job = job.id;
  sums.at = job.kernel;
  sums.done = job.done;
  sums.left = of(job, job.kernel, job.current().block_tasks - job.done) + sums.from;
  return sums.left;
}

}  // namespace gangway

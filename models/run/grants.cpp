#include "models/run/grants.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gangway {

Grants::Grants(std::size_t clients, std::uint32_t gpus, std::optional<std::int64_t> channels, GrantOf of)
    : waiting_(clients), held_(gpus) {
  jobs_.resize(clients);
  grants_ = of;
  channels_ = channels;
  gpus_ = gpus;
  reset();
}

void Grants::reset() {
  for (std::uint32_t c = 0; c < jobs_.size(); ++c) {
    jobs_[c] = {};
    jobs_[c].id.client = ClientId{c};
    jobs_[c].program = c;
  }
  std::fill(waiting_.begin(), waiting_.end(), false);
  std::fill(held_.begin(), held_.end(), Grant{});
}

void Grants::opens(ClientId client, std::uint32_t program) {
  JobFacts& job = jobs_[client.index];
  job = {};
  job.id.client = client;
  job.program = program;
}

void Grants::exited(ClientId client) {
  jobs_[client.index].over = true;
  waiting_[client.index] = false;
}

void Grants::arrived(JobFacts job, Time now) {
  const std::uint32_t place = job.id.client.index;
  job.arrived = now;
  job.over = false;
  job.program = jobs_[place].program;
  jobs_[place] = job;
  waiting_[place] = true;
}

void Grants::kernel(ClientId client, const std::vector<KernelFacts>& kernels, std::uint32_t kernel,
                    BlockCount done) {
  JobFacts& job = jobs_[client.index];
  job.kernels = KernelsFacts(kernels);
  job.kernel = kernel;
  job.done = done;
}

void Grants::returned(JobId job) { waiting_[job.client.index] = true; }

void Grants::over(JobId job) {
  jobs_[job.client.index].over = true;
  waiting_[job.client.index] = false;
}

std::string Grants::refusal(JobId job, DeviceId gpu) const {
  if (gpu.index >= held_.size()) return fmt::format("a launch on device {}, of {}", gpu.index, held_.size());
  if (held_[gpu.index].id.value != 0) return "a launch while another job owns the GPU";
  if (job.client.index >= jobs_.size() || !waits(job)) return "a launch of a job that is not eligible";
  if (!job_of(job.client).gpus.has(gpu))
    return fmt::format("a launch on device {}, which client {} may not use", gpu.index,
                       std::uint32_t{job.client.index});
  return "";
}

Grant& Grants::give(LaunchId id, JobId job, DeviceId gpu) {
  waiting_[job.client.index] = false;
  return held_[gpu.index] = {.id = id, .job = job, .gpu = gpu};
}

Left Grants::end(DeviceId gpu, Why why, bool over, bool waits) {
  Grant& grant = held_[gpu.index];
  JobFacts& job = jobs_[grant.job.client.index];
  job.work.served += grant.served;
  job.over = over;
  waiting_[grant.job.client.index] = waits;
  const Left left{.launch = grant.id,
                  .job = grant.job,
                  .why = over && why != Why::killed ? Why::completed : why,
                  .job_over = !waits,
                  .served = job.work.served};
  grant = {};
  return left;
}

Grant* Grants::on(DeviceId gpu) { return held_[gpu.index].id.value == 0 ? nullptr : &held_[gpu.index]; }

Grant* Grants::find(LaunchId id) {
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Grant& g) { return g.id == id; });
  return id.value == 0 || found == held_.end() ? nullptr : &*found;
}

Grant* Grants::of(ClientId client) {
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Grant& grant) {
    return grant.id.value != 0 && grant.job.client == client;
  });
  return found == held_.end() ? nullptr : &*found;
}

}  // namespace gangway

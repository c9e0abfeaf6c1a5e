#include "models/run/job_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/recorded.hpp"

namespace gangway {
namespace {

ClientId client_of(const Fact& fact) {
  return std::visit(
      [](const auto& f) {
        if constexpr (requires { f.job; })
          return f.job.client;
        else if constexpr (requires { f.client; })
          return f.client;
        else
          return ClientId{};
      },
      fact);
}

std::optional<Duration> declared(const WorldSetup& setup, const Kernel& kernel) {
  if (kernel.time_unknown) return std::nullopt;
  if (kernel.declared_time) return scaled_nearest(*kernel.declared_time, kernel.transformation_overhead);
  return setup.mechanism.running_time(kernel, setup.device);
}

// Of all kernels; none where one is not known.
std::optional<Duration> declared(const std::vector<KernelFacts>& kernels) {
  Duration sum;
  for (const KernelFacts& kernel : kernels) {
    if (!kernel.declared) return std::nullopt;
    sum += *kernel.declared;
  }
  return sum;
}

// Of a client's kernels, when nothing else is on the device: how long they keep the host and the device, and
// how long until both are through.
struct KernelsAlone {
  Duration host, device, both;
};

KernelsAlone kernels_alone(const WorldSetup& setup, const Client& client, CountedForm form) {
  const bool transformed = form == CountedForm::standalone && setup.standalone_transformed;
  KernelsAlone alone;
  for (const Kernel& kernel : client.kernels) {
    const Duration time = transformed ? setup.mechanism.running_time(kernel, setup.device) : kernel.time;
    alone.host += kernel.gap;
    alone.both = std::max(alone.both, alone.host) + time;
    alone.device += time;
    alone.host += kernel.host_work;
    if (client.blocking || kernel.host_work > Duration{})
      alone.host = alone.both = std::max(alone.host, alone.both);
  }
  return alone;
}

Duration copy_in_time(const WorldSetup& setup, const Client& client) {
  if (client.copy_in.count == 0) return {};
  return setup.device.h2d.latency + transfer_time(client.copy_in, setup.device.h2d.bandwidth);
}

Duration copy_out_time(const WorldSetup& setup, const Client& client) {
  if (client.copy_out.count == 0) return {};
  return setup.device.d2h.latency + transfer_time(client.copy_out, setup.device.d2h.bandwidth);
}

// One job of a client alone: how long it takes with no other there, and keeps the busier of host and device.
struct JobAlone {
  Duration takes, keeps;
};

JobAlone job_alone(const WorldSetup& setup, const Client& client, CountedForm form) {
  const KernelsAlone kernels = kernels_alone(setup, client, form);
  const Duration copies = copy_in_time(setup, client) + copy_out_time(setup, client);
  const Duration takes = kernels.both + copies;
  if (client.jobs_in_flight() == 1) return {takes, takes};
  const bool waits = client.copy_out.count > 0;  // for all kernels, before it copies what they made
  return {takes, std::max(kernels.device, copies + (waits ? kernels.both : kernels.host))};
}

// How long the client pauses between a finish and the release that follows from it; none if no release does.
Duration thinking(const Client& client) {
  if (client.repeat.jobs && *client.repeat.jobs <= client.jobs_in_flight()) return {};
  return client.repeat.think.value_or(Duration{});
}

Duration times(std::uint32_t count, Duration d) { return Duration{mul_div_floor(d.ns, count, 1)}; }

}  // namespace

JobBook::JobBook(const WorldSetup& setup) : workload_(&setup.workload) {
  const Workload& workload = setup.workload;
  channels_ = setup.device.access.channels;
  gpus_ = static_cast<std::uint32_t>(setup.device.gpus);
  taken_.resize(workload.clients.size());
  jobs_.resize(workload.clients.size());
  kernels_.resize(workload.clients.size());
  for (std::uint32_t c = 0; c < workload.clients.size(); ++c) {
    const Client& client = workload.clients[c];
    std::map<std::string, std::uint32_t> first;  // kernel of each name
    for (const Kernel& kernel : client.kernels) {
      const auto index = static_cast<std::uint32_t>(kernels_[c].size());
      kernels_[c].push_back({kernel.block_tasks,
                             declared(setup, kernel),
                             client.priority,
                             {resident_blocks(setup.device, kernel)},
                             kernel.slice,
                             first.emplace(kernel.name, index).first->second});
    }
    jobs_[c].id.client = ClientId{c};
    jobs_[c].kernels = kernels_[c];
    jobs_[c].gpus = client.gpus;
    jobs_[c].program = c;
    jobs_[c].weight = client.weight;
    jobs_[c].attributes = &client.attributes;
    jobs_[c].work.alone = declared(kernels_[c]);
  }
  reset();
}

void JobBook::reset() {
  for (JobFacts& facts : jobs_) {
    facts.kernel = static_cast<std::uint32_t>(facts.kernels.size());
    facts.over = true;
  }
  for (BlockSet& taken : taken_) taken.clear();
}

void JobBook::arrived(JobId job, Time now, std::int32_t priority, Time released) {
  const Client& client = workload_->clients[job.client.index];
  std::vector<KernelFacts>& kernels = kernels_[job.client.index];
  for (std::size_t k = 0; k < kernels.size(); ++k)
    kernels[k].priority = static_priority(client, client.kernels[k], priority);
  JobFacts& facts = of(job);
  facts.id = job;
  facts.arrived = now;
  facts.over = false;
  facts.priority = priority;
  facts.deadline.reset();
  if (client.slo) facts.deadline = released + *client.slo;
  facts.work.served = {};
  facts.kernel = 0;
  facts.done = {};
}

std::string JobBook::refusal(JobId job, DeviceId gpu, BlockRange range) const {
  if (job.client.index >= jobs_.size()) return "a launch of a job that is not eligible";
  const JobFacts& facts = jobs_[job.client.index];
  if (facts.id != job || facts.finished()) return "a launch of a job that is not eligible";
  if (!facts.gpus.has(gpu))
    return fmt::format("a launch on device {}, which client {} may not use", gpu.index,
                       std::uint32_t{job.client.index});
  const BlockCount all = facts.current().block_tasks;
  const bool taken = gpus_ == 1 ? range.first != facts.done : taken_[job.client.index].meets(range);
  if (taken || range.first < BlockCount{0} || range.empty() || range.last > all)
    return fmt::format("a launch of block-tasks {} to {} of {}, {} of which are done", range.first.count,
                       range.last.count, all.count, facts.done.count);
  return "";
}

BlockRange JobBook::rest(JobId job) const {
  if (job.client.index >= jobs_.size()) return {};
  const JobFacts& facts = jobs_[job.client.index];
  return facts.finished() ? BlockRange{} : BlockRange{facts.done, facts.current().block_tasks};
}

void JobBook::launched(JobId job, BlockRange range) {
  if (gpus_ > 1) taken_[job.client.index].add(range);
}

bool JobBook::left(JobId job, BlockRange range, BlockCount done) {
  JobFacts& facts = of(job);
  facts.done += done - range.first;
  if (gpus_ > 1) taken_[job.client.index].remove({done, range.last});
  if (facts.done < facts.current().block_tasks) return false;
  facts.over = ++facts.kernel == facts.kernels.size();
  facts.done = {};
  taken_[job.client.index].clear();
  return true;
}

Duration standalone_of(const WorldSetup& setup, const Client& client, CountedForm form) {
  if (client.alone) return client.alone->job;
  if (client.recorded) return client.recorded->job;
  const JobAlone job = job_alone(setup, client, form);
  return std::max(job.takes, times(client.jobs_in_flight(), job.keeps) - thinking(client));
}

PaceAlone pace_alone(const WorldSetup& setup, const Client& client, CountedForm form) {
  JobAlone job;
  if (client.alone)
    job = {client.alone->job, client.alone->between_ends};
  else if (client.recorded)
    job = {client.recorded->job, client.recorded->between_ends};
  else
    job = job_alone(setup, client, form);
  const Duration thinks = thinking(client);
  if (thinks == Duration{}) return {job.keeps, {}};
  // Jitter delays the release by half of its most, on average.
  const Duration cycle = job.takes + thinks + Duration{setup.workload.jitter.arrival.ns / 2};
  const Duration between = std::max(job.keeps, Duration{cycle.ns / std::int64_t{client.jobs_in_flight()}});
  return {between, between - job.keeps};
}

Time first_release(const Workload& workload, const Client& client, std::size_t position) {
  if (!workload.arrivals) return Time{} + client.arrive.value_or(Duration{});
  return Time{workload.arrivals->gap.ns * static_cast<std::int64_t>(position)};
}

void sort_for_telling(std::vector<Fact>& facts) {
  // Insertion: an instant has few facts, and a stable sort from the library would allocate.
  for (std::size_t i = 1; i < facts.size(); ++i)
    for (std::size_t j = i; j > 0; --j) {
      const auto rank = [&](std::size_t k) { return std::pair(facts[k].index(), client_of(facts[k])); };
      if (!(rank(j) < rank(j - 1))) break;
      std::swap(facts[j], facts[j - 1]);
    }
}

}  // namespace gangway

#include "models/run/client_run.hpp"

#include <algorithm>

#include "models/random.hpp"
#include "models/run/jitter.hpp"

namespace gangway {
namespace {

constexpr std::size_t kUsualBacklog = 64;  // jobs; for more of them, memory is taken while time counts

Stream stream(const RunSeed& seed, const char* name, ClientId client, std::uint32_t job) {
  return {seed.seed, name, {seed.replication, seed.permutation, client.index, job}};
}

}  // namespace

double kernel_time_factor(const Jitter& jitter, const RunSeed& seed, JobId job) {
  Stream random = stream(seed, "kernel_time", job.client, job.number);
  return drawn_factor(random, jitter.kernel_time, jitter.normal);
}

ClientRun::ClientRun(const WorldSetup& setup, ClientId id, Form form)
    : client_(&setup.workload.clients[id.index]), id_(id), jitter_(&setup.workload.jitter) {
  for (const Kernel& kernel : client_->kernels)
    nominal_.push_back(form == Form::original ? kernel.time
                                              : setup.mechanism.running_time(kernel, setup.device));
  times_ = nominal_;
  for (const Kernel& kernel : client_->kernels) gaps_.push_back(kernel.gap);
}

void ClientRun::reset(const RunSeed& seed, Time first) {
  seed_ = seed;
  first_ = first;
  latest_ = {};
  released_ = begun_ = kernel_ = announced_ = 0;
  const Repeat& repeat = client_->repeat;
  at_first_ = repeat.is_scheduled() ? 0 : client_->jobs_in_flight();
  requests_.reset();
  if (repeat.arrivals) requests_.emplace(*repeat.arrivals, seed, id_, first);
  scheduled_ = at_first_;
  active_ = left_ = false;
  due_.clear();
  due_.reserve(kUsualBacklog);
  next_due_ = 0;
  released_at_ = {};
}

void ClientRun::release(Time due) {
  ++released_;
  if (client_->slo) due_.push_back(due);
}

bool ClientRun::is_late(Time due) const { return client_->leave && due >= Time{} + *client_->leave; }

bool ClientRun::leaves(Time due) {
  left_ = left_ || (scheduled_ > 0 && is_late(due));
  return left_;
}

Time ClientRun::jittered(Time nominal, std::uint32_t release) const {
  if (jitter_->arrival == Duration{}) return nominal;
  const double share = stream(seed_, "arrival", id_, release).uniform();
  return nominal + Duration{static_cast<std::int64_t>(share * static_cast<double>(jitter_->arrival.ns))};
}

Time ClientRun::next_due() {
  const Repeat& repeat = client_->repeat;
  if (requests_) return requests_->next();
  if (!repeat.releases.empty()) return Time{} + repeat.releases[scheduled_];
  return first_ + Duration{repeat.period->ns * scheduled_};
}

std::optional<Time> ClientRun::next_release() {
  if (announced_ < at_first_) return next_at_first();
  if (at_first_ > 0 || !more()) return std::nullopt;
  const Time release = std::max(latest_, jittered(next_due(), scheduled_));
  if (leaves(release)) return std::nullopt;
  ++scheduled_;
  return latest_ = release;
}

std::optional<Time> ClientRun::next_at_first() {
  const Time release = std::max(latest_, jittered(first_, announced_));
  // A program at its own pace begins its jobs later than this, and knows itself when it leaves.
  if (announced_ > 0 && client_->repeat.think && is_late(release)) {
    scheduled_ -= at_first_ - announced_;
    at_first_ = announced_;
    left_ = true;
    return std::nullopt;
  }
  ++announced_;
  return latest_ = release;
}

std::optional<Time> ClientRun::after_finish(Time now) {
  if (!more() || !client_->repeat.think) return std::nullopt;
  const Time due = jittered(now + *client_->repeat.think, scheduled_);
  if (leaves(due)) return std::nullopt;
  ++scheduled_;
  return due;
}

bool ClientRun::begin() {
  if (active_ || begun_ == released_) return false;
  active_ = true;
  kernel_ = 0;
  if (client_->slo) {
    released_at_ = due_[next_due_++];
    if (next_due_ == due_.size()) {
      due_.clear();
      next_due_ = 0;
    }
  }
  if (jitter_->kernel_time > 0) {
    factor_ = kernel_time_factor(*jitter_, seed_, {id_, begun_});
    for (std::size_t k = 0; k < nominal_.size(); ++k) times_[k] = drawn_time(nominal_[k], factor_);
  }
  if (jitter_->gap > 0) {
    Stream random = stream(seed_, "gap", id_, begun_);
    const double x = drawn_factor(random, jitter_->gap, jitter_->normal);
    for (std::size_t k = 0; k < gaps_.size(); ++k)
      if (const Duration gap = client_->kernels[k].gap; gap > Duration{}) gaps_[k] = drawn_time(gap, x);
  }
  ++begun_;
  return true;
}

std::int32_t ClientRun::priority_of(JobId job) const {
  const std::int32_t least = client_->priority;
  if (!client_->priority_to) return least;
  const auto levels = static_cast<std::uint64_t>(std::int64_t{*client_->priority_to} - least + 1);
  return least + static_cast<std::int32_t>(stream(seed_, "priority", id_, job.number).below(levels));
}

Duration ClientRun::drawn(Duration nominal) const {
  return jitter_->kernel_time > 0 ? drawn_time(nominal, factor_) : nominal;
}

RunningKernel ClientRun::running() const {
  return {job(), kernel_, client_->kernels[kernel_].block_tasks, times_[kernel_]};
}

}  // namespace gangway

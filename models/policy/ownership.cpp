#include "models/policy/ownership.hpp"

#include <algorithm>
#include <iterator>

namespace gangway {

using namespace literals;

Parameter OwnershipPolicy::linger_parameter() {
  return {"linger",
          "how long a job keeps the GPU between two of its kernels while the next one is not eligible; 0: it "
          "gives it up at every end of a kernel",
          Parameter::Time{{}, {}, 1_s}, std::nullopt, true};
}

std::optional<BlockCount> OwnershipPolicy::slice(const JobFacts&) const { return std::nullopt; }
bool OwnershipPolicy::keeps(Time, const View&, const Owner&, DeviceId) { return false; }
Duration OwnershipPolicy::renewed_quantum(Time, const View&, const Owner& owner) { return *owner.quantum; }
void OwnershipPolicy::prepare(std::size_t) {}
void OwnershipPolicy::consider(const View&) {}
bool OwnershipPolicy::yields(const Owner&) const { return false; }
std::int64_t OwnershipPolicy::urgency(const View&, const Waiting&) const { return 0; }
std::int64_t OwnershipPolicy::owner_urgency(Time, const View&, const Owner&) const { return 0; }
void OwnershipPolicy::left(Time, const Owner&, BlockCount) {}
void OwnershipPolicy::stopped_lingering(Time, const Owner&) {}

// --- Facts

void OwnershipPolicy::note(Time now, const Fact& fact, const View& view) {
  if (const auto* arrived = std::get_if<Arrived>(&fact)) {
    on(*arrived, now, view);
  } else if (const auto* over = std::get_if<Left>(&fact)) {
    on(*over, now, view);
  } else if (const auto* started = std::get_if<Started>(&fact)) {
    Gpu* const gpu = gpu_of(started->launch);
    if (gpu == nullptr) return;
    Owner& owner = *gpu->owner;
    if (!owner.lingers) owner.started = now;  // it may be over in the instant that it started
    if (!owner.turn_began) owner.turn_began = now;
  } else if (const auto* exited = std::get_if<Exited>(&fact)) {
    std::erase_if(waiting_, [&](const Waiting& w) { return w.job.client == exited->client; });
  } else if (const auto* timer = std::get_if<Timer>(&fact)) {
    for (Gpu& gpu : gpus_) {
      gpu.expired = gpu.expired || timer->timer == gpu.timer;
      gpu.lingered = gpu.lingered || timer->timer == gpu.linger_timer;
    }
  }
}

OwnershipPolicy::Gpu* OwnershipPolicy::gpu_of(LaunchId launch) {
  for (Gpu& gpu : gpus_)
    if (gpu.owner && gpu.owner->launch == launch) return &gpu;
  return nullptr;
}

void OwnershipPolicy::on(const Arrived& fact, Time now, const View& view) {
  for (Gpu& gpu : gpus_) {
    if (!gpu.owner || !gpu.owner->lingers || gpu.owner->waiting.job != fact.job) continue;
    gpu.owner->waiting.waited = {};
    gpu.owner->returned = ++places_;
    return;
  }
  wait({fact.job, view.job(fact.job).arrived, now, {}, ++places_}, now);
}

void OwnershipPolicy::on(const Left& fact, Time now, const View& view) {
  Gpu* const gpu = gpu_of(fact.launch);
  if (gpu == nullptr) return;
  Owner& owner = *gpu->owner;
  const JobFacts& job = view.job(fact.job);
  const BlockCount tasks = fact.done.value_or(owner.first) - owner.first;
  const bool more = job.id == fact.job && !job.finished();
  if (view.grants() == GrantOf::job) {
    if (!more && fact.why != Why::killed) estimates_.finished(job.program, fact.served);
  } else if (owner.started) {
    estimates_.saw(job, owner.kernel, now - *owner.started, tasks);
  }
  left(now, owner, tasks);
  if (linger_ > Duration{} && fact.why == Why::completed && more && !owner.evicting) {
    owner.lingers = true;
    owner.started.reset();
    if (!fact.job_over) owner.returned = ++places_;
    return;
  }
  if (!fact.job_over && fact.why != Why::killed) {
    owner.waiting.place = ++places_;
    wait(owner.waiting, now);
  }
  gpu->owner.reset();
}

// At the job's place, which is the last one but for a job that lingered.
void OwnershipPolicy::wait(Waiting job, Time now) {
  job.since = now;
  job.provided = false;
  auto place = waiting_.end();
  while (place != waiting_.begin() && std::prev(place)->place > job.place) --place;
  waiting_.insert(place, job);
}

// --- The decision

void OwnershipPolicy::begin(const View& view) {
  for (std::uint32_t gpu = 0; gpu < view.gpus(); ++gpu) gpus_.emplace_back().id = {gpu};
  waiting_.reserve(view.clients());
  candidates_.reserve(view.clients());
  of_waiting_.reserve(view.clients());
  prepare(view.clients());
}

void OwnershipPolicy::decide(Time now, const View& view, Orders& orders) {
  if (gpus_.empty()) begin(view);  // the decision before anything happens
  for (Gpu& gpu : gpus_)
    if (!gpu.owner) release(gpu, orders);
  consider(view);
  take_free(now, view, orders);
  displace(now, view, orders);
  for (Gpu& gpu : gpus_)
    if (gpu.owner) watch(gpu, now, view, orders);
  take_free(now, view, orders);
  for (Gpu& gpu : gpus_) gpu.expired = gpu.lingered = gpu.chosen_now = false;
}

// --- Taking GPUs

void OwnershipPolicy::take_free(Time now, const View& view, Orders& orders) {
  GpuSet free = GpuSet::none();
  for (const Gpu& gpu : gpus_)
    if (!gpu.owner) free.add(gpu.id);
  while (!free.empty() && narrow(view, free)) {
    const Choice choice = choose(now, view);
    const std::size_t chosen = narrowed_ ? of_waiting_[choice.index] : choice.index;
    const DeviceId id = common(free, view.job(waiting_[chosen].job).gpus).lowest();
    free.remove(id);
    Gpu& gpu = gpus_[id.index];
    gpu.owner = Owner{};
    gpu.owner->waiting = waiting_[chosen];
    gpu.owner->waiting.waited += now - waiting_[chosen].since;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
    gpu.owner->quantum = choice.quantum;
    gpu.begins_quantum = choice.quantum.has_value();
    gpu.chosen_now = true;
    gpu.expired = gpu.lingered = false;
    launch(gpu, view, orders);
  }
  narrowed_ = false;
}

// Who can be chosen now. Returns whether there is anybody.
bool OwnershipPolicy::narrow(const View& view, GpuSet free) {
  const auto may = [&](const Waiting& w) { return !common(free, view.job(w.job).gpus).empty(); };
  narrowed_ = gpus_.size() > 1 && !std::all_of(waiting_.begin(), waiting_.end(), may);
  if (!narrowed_) return !waiting_.empty();
  candidates_.clear();
  of_waiting_.clear();
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (!may(waiting_[i])) continue;
    candidates_.push_back(waiting_[i]);
    of_waiting_.push_back(i);
  }
  return !candidates_.empty();
}

void OwnershipPolicy::launch(Gpu& gpu, const View& view, Orders& orders) {
  Owner& owner = *gpu.owner;
  const JobFacts& job = view.job(owner.waiting.job);
  if (view.grants() == GrantOf::job) {
    owner.launch = orders.launch(job.id, gpu.id, std::nullopt);
    return;
  }
  owner.kernel = job.kernel;
  owner.first = job.done;
  BlockCount last = job.current().block_tasks;
  if (const auto most = slice(job); most && *most < last - job.done) last = job.done + *most;
  owner.launch = orders.launch(job.id, gpu.id, BlockRange{job.done, last});
}

}  // namespace gangway

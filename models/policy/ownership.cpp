#include "models/policy/ownership.hpp"

namespace gangway {

Duration OwnershipPolicy::renewed_quantum(Time, const View&) { return {}; }
void OwnershipPolicy::prepare(std::size_t) {}
bool OwnershipPolicy::displaced(Time, const View&) { return false; }
void OwnershipPolicy::left(Time, BlockCount) {}

void OwnershipPolicy::note(Time now, const Fact& fact, const View&) {
  if (const auto* arrived = std::get_if<Arrived>(&fact)) {
    waiting_.push_back({arrived->job, now, now, {}});
  } else if (const auto* over = std::get_if<Left>(&fact)) {
    on(now, *over);
  } else if (const auto* started = std::get_if<Started>(&fact)) {
    if (owner_ && owner_->launch == started->launch) owner_->started = now;
  } else if (const auto* timer = std::get_if<Timer>(&fact)) {
    expired_ = expired_ || timer->timer == timer_;
  }
}

void OwnershipPolicy::on(Time now, const Left& fact) {
  if (!owner_ || owner_->launch != fact.launch) return;
  left(now, fact.done.value_or(owner_->first) - owner_->first);
  if (!fact.job_over && fact.why != Why::killed) {
    const Waiting& w = owner_->waiting;
    waiting_.push_back({w.job, w.arrived, now, w.waited});
  }
  owner_.reset();
}

void OwnershipPolicy::decide(Time now, const View& view, Orders& orders) {
  if (waiting_.capacity() < view.clients()) {  // the decision before anything happens
    waiting_.reserve(view.clients());
    prepare(view.clients());
  }
  if (!owner_ && timer_.value != 0) {
    if (!expired_) orders.cancel(timer_);
    timer_ = {};
  }
  if (owner_)
    watch(now, view, orders);
  else if (!waiting_.empty())
    take(now, view, orders);
  expired_ = false;
}

void OwnershipPolicy::take(Time now, const View& view, Orders& orders) {
  const Choice choice = choose(now, view);
  Owner owner{waiting_[choice.index], {}, 0, {}, std::nullopt, false};
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(choice.index));
  owner.waiting.waited += now - owner.waiting.since;
  const JobFacts& job = view.job(owner.waiting.job);
  owner.kernel = job.kernel;
  owner.first = job.done;
  BlockCount last = job.current().block_tasks;
  if (choice.slice && *choice.slice < last - job.done) last = job.done + *choice.slice;
  owner.launch = orders.launch(job.id, DeviceId{0}, {job.done, last});
  owner_ = owner;
  quantum_ = choice.quantum;
}

void OwnershipPolicy::watch(Time now, const View& view, Orders& orders) {
  if (owner_->evicting) return;
  if (!waiting_.empty() && displaced(now, view)) return evict(orders);
  if (owner_->started && quantum_) {
    timer_ = orders.wake_at(*owner_->started + *quantum_);
    quantum_.reset();
  } else if (expired_) {
    if (!waiting_.empty()) return evict(orders);
    timer_ = orders.wake_at(now + renewed_quantum(now, view));
  }
}

void OwnershipPolicy::evict(Orders& orders) {
  owner_->evicting = true;
  orders.evict(owner_->launch);
}

}  // namespace gangway

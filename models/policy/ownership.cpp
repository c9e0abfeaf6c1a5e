#include "models/policy/ownership.hpp"

namespace gangway {

using namespace literals;

Parameter OwnershipPolicy::linger_parameter() {
  return {"linger",
          "how long a job keeps the GPU between two of its kernels while the next one is not eligible; 0: it "
          "gives it up at every end of a kernel",
          Parameter::Time{{}, {}, 1_s}};
}

std::optional<BlockCount> OwnershipPolicy::slice(const JobFacts&) const { return std::nullopt; }
Duration OwnershipPolicy::renewed_quantum(Time, const View&) { return {}; }
void OwnershipPolicy::prepare(std::size_t) {}
bool OwnershipPolicy::displaced(Time, const View&) { return false; }
void OwnershipPolicy::left(Time, BlockCount) {}

// --- Facts

void OwnershipPolicy::note(Time now, const Fact& fact, const View& view) {
  if (const auto* arrived = std::get_if<Arrived>(&fact)) {
    on(*arrived, now, view);
  } else if (const auto* over = std::get_if<Left>(&fact)) {
    on(*over, now, view);
  } else if (const auto* started = std::get_if<Started>(&fact)) {
    if (!owner_ || owner_->launch != started->launch) return;
    if (!owner_->lingers) owner_->started = now;  // it may be over in the instant that it started
    if (!owner_->turn_began) owner_->turn_began = now;
  } else if (const auto* timer = std::get_if<Timer>(&fact)) {
    expired_ = expired_ || timer->timer == timer_;
    lingered_ = lingered_ || timer->timer == linger_timer_;
  }
}

void OwnershipPolicy::on(const Arrived& fact, Time now, const View& view) {
  if (!owner_ || !owner_->lingers || owner_->waiting.job != fact.job) {
    waiting_.push_back({fact.job, view.job(fact.job).arrived, now, {}});
    return;
  }
  owner_->waiting.waited = {};
  owner_->returned = waiting_.size();
}

void OwnershipPolicy::on(const Left& fact, Time now, const View& view) {
  if (!owner_ || owner_->launch != fact.launch) return;
  left(now, fact.done.value_or(owner_->first) - owner_->first);
  const JobFacts& job = view.job(fact.job);
  const bool more = job.id == fact.job && !job.finished();
  if (linger_ > Duration{} && fact.why == Why::completed && more && !owner_->evicting) {
    owner_->lingers = true;
    owner_->started.reset();
    if (!fact.job_over) owner_->returned = waiting_.size();
    return;
  }
  if (!fact.job_over && fact.why != Why::killed) {
    const Waiting& w = owner_->waiting;
    waiting_.push_back({w.job, w.arrived, now, w.waited});
  }
  owner_.reset();
}

// --- The decision

void OwnershipPolicy::decide(Time now, const View& view, Orders& orders) {
  if (waiting_.capacity() < view.clients()) {  // the decision before anything happens
    waiting_.reserve(view.clients());
    prepare(view.clients());
  }
  if (owner_ && owner_->lingers)
    wait_for_owner(now, view, orders);
  else if (owner_)
    watch(now, view, orders);
  else
    release(orders);
  if (!owner_ && !waiting_.empty()) take(now, view, orders);
  expired_ = lingered_ = false;
}

void OwnershipPolicy::take(Time now, const View& view, Orders& orders) {
  const Choice choice = choose(now, view);
  owner_ = Owner{};
  owner_->waiting = waiting_[choice.index];
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(choice.index));
  owner_->waiting.waited += now - owner_->waiting.since;
  quantum_ = choice.quantum;
  launch(view, orders);
}

void OwnershipPolicy::launch(const View& view, Orders& orders) {
  const JobFacts& job = view.job(owner_->waiting.job);
  owner_->kernel = job.kernel;
  owner_->first = job.done;
  BlockCount last = job.current().block_tasks;
  if (const auto most = slice(job); most && *most < last - job.done) last = job.done + *most;
  owner_->launch = orders.launch(job.id, DeviceId{0}, {job.done, last});
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

// The owner's kernel completed, and the job has another one.
void OwnershipPolicy::wait_for_owner(Time now, const View& view, Orders& orders) {
  const bool others = !waiting_.empty();
  if (others && (displaced_between_kernels(now, view) || expired_)) {
    if (owner_->returned) {
      const Waiting& w = owner_->waiting;
      waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(*owner_->returned),
                      {w.job, w.arrived, now, w.waited});
    }
    return release(orders);
  }
  if (expired_) timer_ = orders.wake_at(now + renewed_quantum(now, view));
  if (owner_->returned) {
    if (linger_timer_.value != 0 && !lingered_) orders.cancel(linger_timer_);
    linger_timer_ = {};
    owner_->lingers = false;
    owner_->returned.reset();
    launch(view, orders);
  } else if (lingered_) {
    release(orders);
  } else if (linger_timer_.value == 0) {
    linger_timer_ = orders.wake_at(now + linger_);
  }
}

void OwnershipPolicy::evict(Orders& orders) {
  owner_->evicting = true;
  orders.evict(owner_->launch);
}

// Nobody owns the GPU, and no timer of the last owner is left.
void OwnershipPolicy::release(Orders& orders) {
  if (timer_.value != 0 && !expired_) orders.cancel(timer_);
  if (linger_timer_.value != 0 && !lingered_) orders.cancel(linger_timer_);
  timer_ = linger_timer_ = {};
  owner_.reset();
}

}  // namespace gangway

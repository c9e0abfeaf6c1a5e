// How owners leave their GPUs: for a waiting job that is more urgent, at the end of a quantum, or because
// they linger for too long.
#include <limits>

#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

}  // namespace

// The waiting jobs are gone through, the most urgent first, and each needs no more than one GPU: one that is
// being vacated already, or else that of the least urgent owner that yields to it.
void OwnershipPolicy::displace(Time now, const View& view, Orders& orders) {
  GpuSet vacated = GpuSet::none(), yielding = GpuSet::none();
  bool expired = false;
  for (Gpu& gpu : gpus_) {
    if (!gpu.owner || gpu.chosen_now) continue;
    if (gpu.owner->evicting) {
      vacated.add(gpu.id);
      continue;
    }
    expired = expired || gpu.expired;
    if (waiting_.empty() || !yields(*gpu.owner)) continue;
    yielding.add(gpu.id);
    gpu.urgency = owner_urgency(now, view, *gpu.owner);
  }
  if (yielding.empty() && !expired) return;
  for (Waiting& w : waiting_) w.provided = false;
  while (!vacated.empty() || !yielding.empty()) {
    const std::size_t next = most_urgent_that_can_act(view, vacated, yielding);
    if (next == kNobody) return;
    waiting_[next].provided = true;
    const GpuSet may_use = view.job(waiting_[next].job).gpus;
    if (const GpuSet leaving = common(vacated, may_use); !leaving.empty()) {
      vacated.remove(leaving.lowest());
      continue;
    }
    const std::int64_t its = urgency(view, waiting_[next]);
    Gpu& gpu = gpus_[least_urgent_below(its, common(yielding, may_use))->id.index];
    yielding.remove(gpu.id);
    gpu.owner->displaced = true;
    vacate(gpu, now, orders);
  }
}

// Of those for which no GPU is being vacated: there is one, or an owner yields. Among equally urgent ones the
// first in the order of beginning to wait.
std::size_t OwnershipPolicy::most_urgent_that_can_act(const View& view, GpuSet vacated,
                                                      GpuSet yielding) const {
  std::size_t best = kNobody;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].provided) continue;
    const std::int64_t its = urgency(view, waiting_[i]);
    if (best != kNobody && its <= most) continue;
    const GpuSet may_use = view.job(waiting_[i].job).gpus;
    if (common(vacated, may_use).empty() && least_urgent_below(its, common(yielding, may_use)) == nullptr)
      continue;
    best = i;
    most = its;
  }
  return best;
}

// Of the owners of these GPUs that are less urgent than that; of equally urgent ones the first by number.
const OwnershipPolicy::Gpu* OwnershipPolicy::least_urgent_below(std::int64_t urgency, GpuSet gpus) const {
  const Gpu* least = nullptr;
  for (const Gpu& gpu : gpus_)
    if (gpus.has(gpu.id) && gpu.urgency < urgency && (least == nullptr || gpu.urgency < least->urgency))
      least = &gpu;
  return least;
}

// Whether somebody waits who may use this GPU, and for whom none is being vacated yet: this one is then.
bool OwnershipPolicy::provide(const Gpu& gpu, const View& view) {
  for (Waiting& w : waiting_)
    if (!w.provided && view.job(w.job).gpus.has(gpu.id)) return w.provided = true;
  return false;
}

// Whether the owner, whose quantum has expired, has to go.
bool OwnershipPolicy::ends_turn(const Gpu& gpu, Time now, const View& view) {
  return !keeps(now, view, *gpu.owner, gpu.id) && provide(gpu, view);
}

void OwnershipPolicy::watch(Gpu& gpu, Time now, const View& view, Orders& orders) {
  const Owner& owner = *gpu.owner;
  if (owner.evicting) return;
  if (owner.lingers) return wait_for_owner(gpu, now, view, orders);
  if (owner.started && gpu.begins_quantum) {
    end_quantum(gpu, *owner.started, *owner.quantum, orders);
    gpu.begins_quantum = false;
  } else if (gpu.expired) {
    if (ends_turn(gpu, now, view)) return vacate(gpu, now, orders);
    end_quantum(gpu, now, renewed_quantum(now, view, owner), orders);
  }
}

// One that would end after all time does not end.
void OwnershipPolicy::end_quantum(Gpu& gpu, Time from, Duration quantum, Orders& orders) {
  gpu.timer = quantum < Time::max() - from ? orders.wake_at(from + quantum) : TimerId{};
}

// The owner's kernel completed, and the job has another one.
void OwnershipPolicy::wait_for_owner(Gpu& gpu, Time now, const View& view, Orders& orders) {
  Owner& owner = *gpu.owner;
  if (gpu.expired) {
    if (ends_turn(gpu, now, view)) return vacate(gpu, now, orders);
    end_quantum(gpu, now, renewed_quantum(now, view, owner), orders);
  }
  if (owner.returned) {
    if (gpu.linger_timer.value != 0 && !gpu.lingered) orders.cancel(gpu.linger_timer);
    gpu.linger_timer = {};
    owner.lingers = false;
    owner.returned.reset();
    launch(gpu, view, orders);
  } else if (gpu.lingered) {
    stopped_lingering(now, owner);
    release(gpu, orders);
  } else if (gpu.linger_timer.value == 0) {
    gpu.linger_timer = orders.wake_at(now + linger_);
  }
}

// The owner has to go: at once if it lingers.
void OwnershipPolicy::vacate(Gpu& gpu, Time now, Orders& orders) {
  Owner& owner = *gpu.owner;
  if (!owner.lingers) {
    owner.evicting = true;
    return orders.evict(owner.launch);
  }
  stopped_lingering(now, owner);
  if (owner.returned) {
    owner.waiting.place = *owner.returned;
    wait(owner.waiting, now);
  }
  release(gpu, orders);
}

// Nobody owns the GPU, and no timer of the last owner is left.
void OwnershipPolicy::release(Gpu& gpu, Orders& orders) {
  if (gpu.timer.value != 0 && !gpu.expired) orders.cancel(gpu.timer);
  if (gpu.linger_timer.value != 0 && !gpu.lingered) orders.cancel(gpu.linger_timer);
  gpu.timer = gpu.linger_timer = {};
  gpu.owner.reset();
}

}  // namespace gangway

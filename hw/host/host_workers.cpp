#include "hw/host/host_workers.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kSpin = 200_us;  // before a worker that has nothing to do sleeps
constexpr std::size_t kMostLengths = 100'000;

// Waits until the value is no longer `old`: awake at first, since work often comes soon.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old, bool crowded) {
  const auto began = HostClock::now();
  while (value.load(std::memory_order_acquire) == old) {
    if (crowded || HostClock::now() - began > kSpin)
      value.wait(old, std::memory_order_acquire);
    else
      pause_briefly();
  }
}

}  // namespace

HostWorkers::HostWorkers(const HostMemory& memory, const HostMechanism& mechanism, unsigned workers)
    : memory_(memory),
      mechanism_(mechanism),
      workers_(workers),
      crowded_(workers >= std::thread::hardware_concurrency()),
      seen_(workers) {
  for (unsigned worker = 0; worker < workers; ++worker)
    threads_.emplace_back([this, worker] { work(worker); });
}

HostWorkers::~HostWorkers() {
  order_.quit = true;
  posted_.store(++launches_, std::memory_order_release);
  posted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HostWorkers::launch(KernelIndex kernel, BlockRange range) { order(kernel, range, mechanism_.polling()); }
void HostWorkers::launch_original(KernelIndex kernel) {
  order(kernel, {{0}, {memory_.block_tasks()[memory_.at(kernel)]}}, PollingForm::none);
}

std::uint32_t HostWorkers::persistent_blocks(std::uint32_t block_tasks) const {
  const std::uint32_t blocks = mechanism_.blocks(workers_, block_tasks);
  if (blocks < 1 || blocks > workers_)
    throw std::logic_error("persistent blocks must be 1 to those that fit");
  return blocks;
}

std::int64_t HostWorkers::blocks(KernelIndex kernel) const {
  return persistent_blocks(memory_.block_tasks()[memory_.at(kernel)]);
}

void HostWorkers::order(KernelIndex kernel, BlockRange range, PollingForm polling) {
  const auto first = static_cast<std::uint32_t>(range.first.count);
  const auto last = static_cast<std::uint32_t>(range.last.count);
  const std::uint32_t blocks = polling == PollingForm::none ? workers_ : persistent_blocks(last - first);
  ++launches_;
  order_ = {{launches_, first, last, blocks},
            &memory_.problem(kernel),
            memory_.at(kernel),
            polling,
            static_cast<std::uint64_t>(mechanism_.look_interval().ns),
            observe_,
            false};
  word_.store(static_cast<ControlWord>(flagged_) << 32, std::memory_order_relaxed);
  samples_.store(0, std::memory_order_relaxed);
  left_.store(0, std::memory_order_relaxed);
  began_at_.store(0, std::memory_order_relaxed);
  posted_.store(launches_, std::memory_order_release);
  posted_.notify_all();
}

void HostWorkers::evict() {
  if (order_.polling != PollingForm::claim) return leaving_.store(launches_, std::memory_order_relaxed);
  // An addition that changes the high half alone, whatever is being claimed at the same time.
  word_.fetch_add(static_cast<ControlWord>(launches_ - flagged_) << 32, std::memory_order_relaxed);
  flagged_ = launches_;
}

bool HostWorkers::started() {
  return started_.load(std::memory_order_acquire) == launches_ || gone();  // it may have left at once
}
std::optional<HostClock::Instant> HostWorkers::began() {
  const std::int64_t ns = began_at_.load(std::memory_order_relaxed);
  return ns != 0 ? HostClock::Instant{ns} : gone_at_;
}
bool HostWorkers::gone() { return gone_.load(std::memory_order_acquire) == launches_; }

// --- Workers
// ------------------------------------------------------------------------------------------------------------

void HostWorkers::work(unsigned worker) {
  std::uint32_t last = 0;
  for (;;) {
    wait_for_change(posted_, last, crowded_);
    last = posted_.load(std::memory_order_acquire);
    const Order order = order_;
    if (order.quit) return;
    // One that has no part in the launch says so, too, before the next order is written.
    if (worker < order.task.blocks) persist(worker, order);
    if (left_.fetch_add(1, std::memory_order_acq_rel) + 1 < workers_) continue;
    done_ = done_after(order.polling, word_.load(std::memory_order_relaxed), order.task);
    gone_at_ = HostClock::now();
    gone_.store(order.task.launch, std::memory_order_release);
  }
}

void HostWorkers::persist(unsigned worker, const Order& order) {
  Seen& seen = seen_[worker];
  seen.lengths.clear();
  seen.done.clear();
  seen.first = seen.last = HostClock::now();
  bool first = true;
  const auto begin = [&] {
    if (!std::exchange(first, false)) return;
    std::int64_t none = 0;
    if (began_at_.compare_exchange_strong(none, HostClock::now().ns, std::memory_order_relaxed))
      started_.store(order.task.launch, std::memory_order_release);
  };
  if (order.polling ==
      PollingForm::none) {  // blocks without a scheduler's protocol: an even share for each core
    for (std::uint32_t index = order.task.first + worker; index < order.task.last; index += workers_) {
      begin();
      carry_out(order, seen, index);
    }
  } else if (order.polling == PollingForm::proxy && worker == 0) {
    stand_in(order);
  } else {
    Looks looks;
    for (;;) {
      const Claim next = claim(order, looks);
      if (!next.run) break;
      begin();
      carry_out(order, seen, next.index);
    }
  }
  seen.last = HostClock::now();
}

// What the proxy does: carries the order to leave to where the others look, until it has or all is claimed.
void HostWorkers::stand_in(const Order& order) {
  const std::uint32_t all = order.task.last - order.task.first;
  while (static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed)) < all) {
    if (leaving_.load(std::memory_order_relaxed) == order.task.launch)
      return copied_.store(order.task.launch, std::memory_order_relaxed);
    if (crowded_)
      std::this_thread::yield();
    else
      pause_briefly();
  }
}

Claim HostWorkers::claim(const Order& order, Looks& looks) {
  if (order.polling != PollingForm::claim && sees_order_to_leave(order, looks)) return {};
  return claim_of(word_.fetch_add(1, std::memory_order_relaxed), order.task);
}

bool HostWorkers::sees_order_to_leave(const Order& order, Looks& looks) {
  if (order.polling == PollingForm::host)
    return leaving_.load(std::memory_order_relaxed) == order.task.launch;
  const auto now = order.look_interval > 0 && looks.claims < 2 ? HostClock::now() : HostClock::Instant{};
  if (looks.claims == 0) looks.from = now;
  if (looks.claims == 1 && order.look_interval > 0)
    samples_.fetch_add(sample_of(static_cast<std::uint64_t>((now - looks.from).ns)),
                       std::memory_order_relaxed);
  if (looks.claims == looks.look_at) {
    if (copied_.load(std::memory_order_relaxed) == order.task.launch) return true;
    looks.look_at += looks.claims == 0 || order.look_interval == 0
                         ? 1
                         : tasks_between_looks(order.look_interval, samples_.load(std::memory_order_relaxed));
  }
  ++looks.claims;
  return false;
}

void HostWorkers::carry_out(const Order& order, Seen& seen, std::uint32_t index) {
  if (!order.observe) return order.problem->block_task(index);
  const auto began = HostClock::now();
  order.problem->block_task(index);
  if (seen.lengths.size() < kMostLengths) seen.lengths.push_back(HostClock::now() - began);
  seen.done.push_back(index);
  ++counts_[order.kernel][index];  // no two workers have the same index at once
}

// --- Observation
// --------------------------------------------------------------------------------------------------------

void HostWorkers::observe(bool on) {
  observe_ = on;
  counts_.clear();
  if (!on) return;
  for (const std::uint32_t tasks : memory_.block_tasks()) counts_.emplace_back(tasks, 0);
  for (Seen& seen : seen_) seen.lengths.reserve(kMostLengths);
}

DeviceProbes::Observed HostWorkers::observed() {
  Observed all;
  if (!observe_) return all;
  for (std::uint32_t worker = 0; worker < order_.task.blocks; ++worker)
    for (const Duration length : seen_[worker].lengths)
      if (all.lengths.size() < kMostLengths) all.lengths.push_back(length);
  all.counts = counts_[order_.kernel];
  return all;
}

Duration HostWorkers::device_time() {
  HostClock::Instant first = seen_[0].first, last = seen_[0].last;
  for (std::uint32_t worker = 1; worker < order_.task.blocks; ++worker) {
    first = std::min(first, seen_[worker].first);
    last = std::max(last, seen_[worker].last);
  }
  return last - first;
}

}  // namespace gangway

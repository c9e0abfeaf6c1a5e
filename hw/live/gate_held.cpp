// Threads that are held at the gate.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "hw/live/gate.hpp"
#include "hw/live/kill_points.hpp"
#include "hw/live/monotonic.hpp"
#include "hw/live/pause.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kSpin = 100'000;     // ns at a closed gate before the thread yields its core
constexpr std::int64_t kYield = 5'000'000;  // ns before it sleeps: a core that sleeps takes 16-66 us to wake
constexpr std::int64_t kBetweenLooks = 20'000;  // ns asleep while something is still outstanding
constexpr std::int64_t kSleep = 100'000'000;    // ns; then it looks whether the daemon is still there

void sleep_while_closed(const PermitPage& permit, std::int64_t most) {
  const timespec limit{0, most};
  syscall(SYS_futex, &permit.allowed, FUTEX_WAIT, 0, &limit, nullptr, 0);
}

unsigned bucket(std::int64_t ns) {
  const unsigned b =
      ns <= 1 ? 0 : 63 - static_cast<unsigned>(__builtin_clzll(static_cast<std::uint64_t>(ns)));
  return b < kBuckets ? b : kBuckets - 1;
}

}  // namespace

void Gate::obey(const PermitPage& permit) {
  {
    const std::lock_guard lock(memory_mutex_);
    open_when_here_ = false;
    permit_.store(&permit);
  }
  syscall(SYS_futex, &held_.allowed, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// The helper thread that calls these begins before open_first() has stored the pages.
void Gate::open_to_all() {
  const std::scoped_lock lock(first_mutex_, memory_mutex_);
  open_when_here_ = memory_away_;
  permit_.store(memory_away_ ? &held_ : &open_);
}

void Gate::hold() {
  const std::scoped_lock lock(first_mutex_, memory_mutex_);
  open_when_here_ = false;
  permit_.store(&held_);
}

std::int64_t Gate::open_since() const {
  const PermitPage& permit = *permit_.load();
  const ClientPage* const page = page_.load();
  if (page == nullptr) return kNotOpen;
  const std::uint32_t allowed = permit.allows(page->job.load());
  const bool shut =
      allowed == 0 || (allowed == kIntercepted ? page->waiting.load() != 0 : page->outstanding() >= allowed);
  return shut ? kNotOpen : permit.decided.load();
}

void Gate::introduce() {
  if (permit_.load() == &unopened_) open_first();
}

const MemoryOrders* Gate::memory_orders() const {
  const PermitPage* permit = permit_.load();
  return permit == &unopened_ || permit == &open_ || permit == &held_ ? nullptr : &permit->memory;
}

void Gate::memory_leaves() {
  const std::lock_guard lock(memory_mutex_);
  memory_away_ = true;
}

void Gate::memory_is_here() {
  const std::lock_guard lock(memory_mutex_);
  memory_away_ = false;
  if (!open_when_here_) return;
  open_when_here_ = false;
  permit_.store(&open_);
  syscall(SYS_futex, &held_.allowed, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Gate::Arrival::Arrival(Gate& gate) {
  const PermitPage& permit = *gate.permit_.load();
  ClientPage* const page = gate.page_.load();
  const auto closed = [&] { return gate.permit_.load() == &permit && permit.allows(page->job.load()) == 0; };
  if (page == nullptr || &permit == &unopened_ || nested() || gate.captures() || !closed()) return;
  if ((page->job.load() & 1) == 0) {
    if (permit.most_channels.load() == 1) return;  // it will be refused
    gate.jobs_.begin(permit, *page);               // policies hear of jobs
    if (!closed()) return;
  }
  page_ = page;
  page->waiting.fetch_add(1);
  if (permit.polled.load() == 0) gate.source_.ring();
}

Gate::Arrival::~Arrival() {
  if (page_ != nullptr) page_->waiting.fetch_sub(1);
}

void Gate::wait_for_permit(const PermitPage& permit) {
  ClientPage& page = *page_.load();
  const std::int64_t began = monotonic_ns();
  page.waiting.fetch_add(1);
  GANGWAY_POINT("waiting");
  if (permit.polled.load() == 0) source_.ring();
  std::int64_t looked = 0;
  bool over = false;
  // If another thread has ended the job, this one begins the next; nobody would hear of it otherwise.
  const auto must_wait = [&](std::uint64_t job) { return (job & 1) != 0 && permit.allows(job) == 0; };
  while (must_wait(page.job.load()) && permit_.load() == &permit) {
    const std::int64_t now = monotonic_ns();
    if (now - began < kSpin || now - looked > kBetweenLooks) {
      over = look();  // somebody may be waiting for that
      looked = now;
    }
    if (now - began < kSpin)
      spin_pause();
    else if (now - began < kYield || now < permit.awake.load())
      sched_yield();
    else if (permit.allowed.load() == 0)
      sleep_while_closed(permit, over ? kSleep : kBetweenLooks);
    else
      sleep_ns(kBetweenLooks);
  }
  GANGWAY_POINT("woken");
  page.waiting.fetch_sub(1);
  const std::int64_t end = monotonic_ns();
  page.held.fetch_add(1);
  page.held_ns.fetch_add(static_cast<std::uint64_t>(end - began));
  if (const std::int64_t decided = permit.decided.load(); decided > began)
    page.woken[bucket(end - decided)].fetch_add(1);
}

// False: the permit has changed meanwhile.
bool Gate::wait_for_admission(const PermitPage& permit, std::uint32_t epoch) {
  ClientPage& page = *page_.load();
  const std::int64_t began = monotonic_ns();
  page.waiting.fetch_add(1);
  const std::uint64_t number = page.asked.fetch_add(1) + 1;
  GANGWAY_POINT("asks");
  if (permit.polled.load() == 0) source_.ring();
  bool admitted = false;
  while (permit.epoch.load() == epoch && permit_.load() == &permit) {
    admitted = permit.admitted.load() >= number;
    if (admitted) break;
    if (const std::int64_t waited = monotonic_ns() - began; waited < kSpin)
      spin_pause();
    else if (waited < kYield)
      sched_yield();
    else
      sleep_ns(kBetweenLooks);
  }
  page.waiting.fetch_sub(1);
  page.held.fetch_add(1);
  page.held_ns.fetch_add(static_cast<std::uint64_t>(monotonic_ns() - began));
  return admitted;
}

}  // namespace gangway::live

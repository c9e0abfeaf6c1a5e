#include "hw/live/memory/claims.hpp"

#include "hw/live/kill_points.hpp"
#include "hw/live/monotonic.hpp"
#include "hw/live/pause.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kBetweenAsks = 20'000;       // ns
constexpr std::int64_t kBetweenLooks = 50'000'000;  // ns

}  // namespace

// Nobody sees a claim that it will not keep, unless the budget is lowered just then.
bool Claims::claim(std::uint64_t bytes) {
  std::atomic<std::uint64_t>& claimed = gate_.page()->memory.claimed;
  const auto allowed = [&](std::uint64_t all) {
    const MemoryOrders* orders = gate_.memory_orders();
    return orders == nullptr || all <= orders->budget.load();
  };
  std::uint64_t before = claimed.load();
  do {
    if (!allowed(before + bytes)) return false;
  } while (!claimed.compare_exchange_weak(before, before + bytes));
  if (allowed(before + bytes)) return true;
  claimed.fetch_sub(bytes);
  return false;
}

void Claims::give_back(std::uint64_t bytes) { gate_.page()->memory.claimed.fetch_sub(bytes); }

Claims::Answer Claims::ask(std::uint64_t bytes, const std::function<void()>& look) {
  const std::lock_guard lock(asking_);
  ClientPage& page = *gate_.page();
  const MemoryOrders* orders = gate_.memory_orders();
  if (orders == nullptr) return Answer::again;
  const std::uint64_t want = page.memory.claimed.load() + bytes;
  if (want <= orders->budget.load()) return Answer::again;
  page.memory.want.store(want);
  std::uint64_t number = page.memory.asked.fetch_add(1) + 1;
  GANGWAY_POINT("asks-for-memory");
  page.waiting.fetch_add(1);
  gate_.ring();
  Answer answer = Answer::again;
  bool come_in = false;
  std::int64_t looked = monotonic_ns();
  while (gate_.memory_orders() == orders && orders->budget.load() < want && !come_in) {
    if (monotonic_ns() - looked >= kBetweenLooks) {
      look();
      looked = monotonic_ns();
      number =
          page.memory.asked.fetch_add(1) + 1;  // what it was granted may have been recalled before it saw it
      gate_.ring();
    }
    if (orders->refused.load() >= number) {
      answer = Answer::no;
      break;
    }
    come_in = orders->not_yet.load() >= number;
    if (!come_in) sleep_ns(kBetweenAsks);
  }
  page.waiting.fetch_sub(1);
  if (come_in) wait_at_gate();
  return answer;
}

void Claims::look_at_device(MemoryDriver& driver) {
  std::uint64_t free = 0, total = 0, held = 0;
  MemoryStanding& standing = gate_.page()->memory;
  for (int attempts = 0; attempts < 3; ++attempts) {
    held = standing.claimed.load();
    if (driver.info(free, total) != MemoryDriver::kSuccess) return;
    if (held == standing.claimed.load()) break;
  }
  standing.held.store(held);
  standing.free.store(free);
  standing.total.store(total);
  standing.looks.fetch_add(1);
}

void Claims::wait_at_gate() {
  const Submission none;
  const Pass pass = gate_.enter(none);
  if (!pass.refused) gate_.leave(pass, none, false);
}

}  // namespace gangway::live

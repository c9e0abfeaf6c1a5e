// A process with managed memory and a mover, on a device and under a daemon that tests play.
#pragma once

#include <deque>

#include "hw/live/memory/lender.hpp"
#include "hw/live/memory/mover.hpp"
#include "tests/hw/live/fake_driver.hpp"
#include "tests/hw/live/memory/fake_memory.hpp"

namespace gangway::live::testing {

inline constexpr std::uint64_t kManagedMiB = 1 << 20;

struct NoHelp : Helped {
  void helper_begins() override {}
};

struct MovedProcess {
  explicit MovedProcess(std::uint64_t capacity) : device(capacity), source(new_page()) {
    source->permit.memory.budget.store(capacity);
    source->permit.allowed.store(kUnlimited);
  }
  static FakeSource* new_page() {
    static std::deque<FakeSource> all;
    return &all.emplace_back();
  }
  // Orders, and what the mover's thread does about them.
  void order(Goal goal) {
    source->permit.memory.goal.store(static_cast<std::uint32_t>(goal));
    source->permit.memory.number.fetch_add(1);
    while (mover.turn()) {
    }
  }
  // Its state leaves after one more submission, and comes back. The bytes that were copied out.
  std::uint64_t copied_after_work() {
    const std::atomic<std::uint64_t>& saved = source->client.memory.saved;
    source->client.threads[0].submissions.fetch_add(1);
    const std::uint64_t before = saved.load();
    order(Goal::away);
    order(Goal::here);
    return saved.load() - before;
  }
  bool carried_out() const {
    return source->client.memory.done.load() == source->permit.memory.number.load();
  }
  // From now on it passes on pieces of `size` bytes, to the lender.
  void passes(std::uint64_t size) {
    source->channel = lender.client_end();
    source->permit.memory.pass.store(size);
  }
  ManagedMemory::Owner owner() const { return {7, 0, 7, 0, {}, {{0, 3}}}; }

  FakeDriver driver;
  FakeMemory device;
  FakeSource* source;
  Lender lender;
  Gate gate{driver, *source};
  NoHelp help;
  ManagedMemory memory{device, gate};
  Mover mover{memory, help};
};

}  // namespace gangway::live::testing

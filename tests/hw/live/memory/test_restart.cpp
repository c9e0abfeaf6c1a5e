// A daemon that is gone while a state moves, and the next one.
#include <functional>
#include <utility>

#include "hw/live/memory/keeper.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/memory/moved_process.hpp"

namespace gangway::live {
namespace {

using testing::FakeMemory;
using testing::kManagedMiB;
using testing::MovedProcess;

// What the next daemon sees and orders of the process, on a page of its own.
struct Returned : KeptClient {
  explicit Returned(ClientPage& its) : page(its) {}
  void let_in(std::uint32_t allowed) override { permit.allowed.store(allowed); }
  Standing look() override { return {}; }
  Memory memory() const override {
    const MemoryStanding& standing = page.memory;
    Memory seen;
    seen.claimed = standing.claimed.load();
    seen.movable = standing.movable.load();
    seen.away = standing.away.load();
    seen.done = standing.done.load();
    seen.host = standing.host.load();
    seen.answers = true;
    return seen;
  }
  void order(Goal goal, std::uint32_t number) override {
    permit.memory.goal.store(static_cast<std::uint32_t>(goal));
    permit.memory.number.store(number);
  }
  void budget(std::uint64_t bytes) override { permit.memory.budget.store(bytes); }
  void available(std::uint64_t) override {}
  void host(std::uint64_t) override {}
  void refuse(std::uint64_t) override {}
  void not_yet(std::uint64_t) override {}

  PermitPage permit{};
  ClientPage& page;
};

TEST_CASE("A piece that an earlier daemon ordered away is back before the gate opens", "[live][memory]") {
  MovedProcess process(1024 * kManagedMiB);
  std::uint64_t at = 0;
  REQUIRE(process.memory.allocate(256 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  process.device.word(at) = 42;
  while (process.mover.turn()) {
  }
  process.source->client.threads[0].submissions.fetch_add(1);
  process.source->permit.allowed.store(0);
  process.source->permit.memory.goal.store(static_cast<std::uint32_t>(Goal::away));
  process.source->permit.memory.number.fetch_add(1);

  MemorySettings settings;
  settings.managed = true;
  settings.spare = 0;
  settings.capacity = 1024 * kManagedMiB;
  Keeper keeper(settings);
  static Returned next(process.source->client);  // the gate keeps its page
  process.device.at_copy = [&] {
    process.gate.hold();  // the earlier daemon is gone
    keeper.comes(next);
    process.gate.obey(next.permit);
    keeper.permit(next, kUnlimited, Time{1});
    keeper.step(Time{1});
    CHECK(process.gate.closed());
  };
  process.mover.turn();
  CHECK(process.gate.closed());
  CHECK(process.source->client.memory.away.load() == 256 * kManagedMiB);
  while (process.mover.turn()) {
  }
  keeper.step(Time{2});
  CHECK(!process.gate.closed());
  CHECK(process.device.word(at) == 42);
}

}  // namespace
}  // namespace gangway::live

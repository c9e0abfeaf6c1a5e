// Which contexts are there, and what the mover does as they come and go.
#include <chrono>
#include <thread>

#include "hw/live/memory/live_contexts.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/memory/moved_process.hpp"

namespace gangway::live {
namespace {

using testing::kManagedMiB;
using testing::MovedProcess;

TEST_CASE("The latest context is the one that last got memory and is there", "[live][memory]") {
  LiveContexts contexts;
  CHECK(contexts.latest() == 0);
  contexts.add(1);
  CHECK(contexts.latest() == 1);
  contexts.used(2);
  contexts.add(3);
  CHECK(contexts.latest() == 2);
  contexts.used(1);
  CHECK(contexts.latest() == 1);
  CHECK(contexts.ends(1));
  CHECK(!contexts.ends(1));
  CHECK(contexts.latest() == 2);
  CHECK(contexts.ends(2));
  CHECK(contexts.latest() == 3);
  CHECK(LiveContexts::Use(contexts, 2).context() == 0);
  CHECK(LiveContexts::Use(contexts).context() == 3);
}

TEST_CASE("Who destroys a context waits for those that use it", "[live][memory]") {
  LiveContexts contexts;
  contexts.add(1);
  contexts.add(2);
  std::atomic<bool> unused{false};
  std::thread destroys;
  {
    const LiveContexts::Use first(contexts, 1), second(contexts, 1), other(contexts, 2);
    contexts.ends(1);
    destroys = std::thread([&] {
      contexts.wait_until_unused(1);
      unused.store(true);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(!unused.load());
  }
  destroys.join();
}

TEST_CASE("Memory of no context moves in any context that is left", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  std::uint64_t at = 0;
  ManagedMemory::Owner owner = process.owner();
  owner.context = 0;
  owner.current = 7;
  REQUIRE(process.memory.allocate(100 * kManagedMiB, owner, at) == MemoryDriver::kSuccess);
  process.device.word(at) = 3;
  std::uint64_t small = 0;
  owner.context = owner.current = 8;
  REQUIRE(process.memory.allocate(4096, owner, small) == MemoryDriver::kSuccess);
  const MemoryStanding& standing = process.source->client.memory;
  process.order(Goal::away);
  CHECK(process.device.entered == 8);
  CHECK(process.memory.context_ends(8));
  process.memory.context_gone(8);
  process.order(Goal::here);
  CHECK(process.device.entered == 7);
  CHECK(process.device.word(at) == 3);
  CHECK(standing.turned.load() == 0);

  // Once none is left, nothing moves and nothing is pinned, until there is another one.
  CHECK(process.memory.context_ends(7));
  process.memory.context_gone(7);
  process.source->permit.memory.host.store(600 * kManagedMiB);
  process.order(Goal::away);
  CHECK(standing.turned.load() == 1);
  CHECK(standing.error.load() == 201);
  CHECK(standing.no_host.load() == 600);
  process.memory.contexts().add(9);
  process.order(Goal::away);
  CHECK(standing.no_host.load() == 0);
  CHECK(standing.host.load() == 600 * kManagedMiB);
  CHECK(standing.away.load() == standing.movable.load());
}

}  // namespace
}  // namespace gangway::live

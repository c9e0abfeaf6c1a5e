// What of a client's managed memory is copied when it leaves again, and what cannot leave.
#include "tests/catch.hpp"
#include "tests/hw/live/memory/moved_process.hpp"

namespace gangway::live {
namespace {

using testing::kManagedMiB;
using testing::MovedProcess;

TEST_CASE("What was not written since it came back is not copied again", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  std::uint64_t at = 0;
  REQUIRE(process.memory.allocate(100 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  const MemoryStanding& standing = process.source->client.memory;
  process.source->client.slots.store(1);
  process.source->client.threads[0].submissions.store(1);
  process.order(Goal::away);
  const std::uint64_t once = standing.saved.load();
  CHECK(once == 100 * kManagedMiB);
  process.order(Goal::here);
  process.order(Goal::away);
  CHECK(standing.saved.load() == once);
  CHECK(standing.spared.load() == once);
  process.order(Goal::here);
  process.source->client.threads[0].submissions.store(2);
  process.order(Goal::away);
  CHECK(standing.saved.load() == 2 * once);
}

TEST_CASE("What no kernel writes to is copied again after a copy into it only", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  process.memory.declare_read_only({40 * kManagedMiB}, false);
  std::uint64_t at = 0, other = 0;
  REQUIRE(process.memory.allocate(40 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.allocate(20 * kManagedMiB, process.owner(), other) == MemoryDriver::kSuccess);
  const MemoryStanding& standing = process.source->client.memory;
  CHECK(standing.declared.load() == 40 * kManagedMiB);
  const std::uint64_t rest = standing.movable.load() - 40 * kManagedMiB;
  process.source->client.slots.store(1);
  process.device.word(at) = 5;
  CHECK(process.copied_after_work() == rest + 40 * kManagedMiB);
  CHECK(process.copied_after_work() == rest);
  process.memory.written(other);
  CHECK(process.copied_after_work() == rest);
  process.device.word(at + 39 * kManagedMiB) = 6;
  process.memory.written(at + 100);
  CHECK(process.copied_after_work() == rest + 40 * kManagedMiB);
  CHECK(process.copied_after_work() == rest);
  process.memory.written(0);
  CHECK(process.copied_after_work() == rest + 40 * kManagedMiB);
  CHECK(process.device.word(at) == 5);
  CHECK(process.device.word(at + 39 * kManagedMiB) == 6);
  // Another one in its place is another one.
  REQUIRE(process.memory.free(at));
  REQUIRE(process.memory.allocate(40 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  CHECK(process.copied_after_work() == rest + 40 * kManagedMiB);
  REQUIRE(process.memory.free(at));
  CHECK(standing.declared.load() == 0);
}

TEST_CASE("What a kernel has written all the same is found, and kept", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  process.memory.declare_read_only({40 * kManagedMiB}, true);
  std::uint64_t at = 0;
  REQUIRE(process.memory.allocate(40 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  const MemoryStanding& standing = process.source->client.memory;
  process.source->client.slots.store(1);
  for (std::uint64_t turn = 1; turn < 4; ++turn) {
    process.device.word(at + 30 * kManagedMiB) = turn / 2;  // from the second turn on it is another one
    process.source->client.threads[0].submissions.fetch_add(1);
    process.order(Goal::away);
    process.order(Goal::here);
    CHECK(process.device.word(at + 30 * kManagedMiB) == turn / 2);
    CHECK(standing.belied.load() == (turn < 2 ? 0 : 40 * kManagedMiB));
  }
  CHECK(standing.declared.load() == 0);
}

TEST_CASE("What is mapped at addresses that others share stays", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  std::uint64_t at = 0;
  process.device.reserve(6 * kManagedMiB, at);
  for (std::uint64_t piece = 0; piece < 3; ++piece) {
    std::uint64_t handle = 0;
    REQUIRE(process.memory.create(2 * kManagedMiB, {}, 7, handle) == MemoryDriver::kSuccess);
    REQUIRE(process.memory.map(at + piece * 2 * kManagedMiB, 2 * kManagedMiB, 0, handle) ==
            MemoryDriver::kSuccess);
  }
  const MemoryStanding& standing = process.source->client.memory;
  process.memory.fix_mapped(at + 2 * kManagedMiB - 1, 2);
  CHECK(standing.fixed.load() == 4 * kManagedMiB);
  CHECK(standing.movable.load() == 2 * kManagedMiB);
  process.order(Goal::away);
  CHECK(standing.away.load() == 2 * kManagedMiB);
}

TEST_CASE("What can only be read through its mappings is not copied again", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  std::uint64_t handle = 0, at = 0;
  REQUIRE(process.memory.create(8 * kManagedMiB, {}, 7, handle) == MemoryDriver::kSuccess);
  process.device.reserve(8 * kManagedMiB, at);
  REQUIRE(process.memory.map(at, 8 * kManagedMiB, 0, handle) == MemoryDriver::kSuccess);
  process.source->client.slots.store(1);
  const auto write = [&](std::uint64_t word) {
    REQUIRE(process.memory.allow(at, 8 * kManagedMiB, {{0, 3}}) == MemoryDriver::kSuccess);
    process.device.word(at) = word;
    REQUIRE(process.memory.allow(at, 8 * kManagedMiB, {{0, 1}}) == MemoryDriver::kSuccess);
  };
  write(5);
  CHECK(process.copied_after_work() == 8 * kManagedMiB);
  CHECK(process.copied_after_work() == 0);
  write(6);
  CHECK(process.copied_after_work() == 8 * kManagedMiB);
  CHECK(process.device.word(at) == 6);
}

}  // namespace
}  // namespace gangway::live

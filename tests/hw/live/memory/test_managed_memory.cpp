// One client's managed memory and its mover, on a device and under a daemon that the tests play.
#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/memory/moved_process.hpp"

namespace gangway::live {
namespace {

using testing::FakeMemory;
using testing::kManagedMiB;
using testing::MovedProcess;

// The words of an allocation, by address.
using Words = std::map<std::uint64_t, std::uint64_t>;

class RandomProgram {
 public:
  RandomProgram(MovedProcess& process, std::uint64_t seed, std::uint64_t large, bool passes)
      : process_(process), random_(seed), large_(large), passes_(passes) {}

  void step() {
    const std::uint64_t what = below(20);
    if (what < 5)
      allocate();
    else if (what < 8)
      free();
    else if (what < 12)
      write();
    else if (what < 14)
      create();
    else if (what < 15)
      unmap();
    else
      move();
    REQUIRE(process_.device.exceeded == 0);
  }
  void check() {
    for (const auto& [at, words] : blocks_)
      for (const auto& [address, value] : words) REQUIRE(process_.device.word(address) == value);
  }
  std::uint64_t lent() const { return lent_; }  // bytes, to it
  void end() {
    if (away_) come();
    while (!blocks_.empty()) free();
    while (!created_.empty()) unmap();
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  void write_all(std::uint64_t at, std::uint64_t size) {
    Words& words = blocks_[at];
    for (std::uint64_t a = (at + FakeMemory::kWord - 1) / FakeMemory::kWord * FakeMemory::kWord;
         a < at + size; a += FakeMemory::kWord)
      words[a] = process_.device.word(a) = random_();
  }
  void submit() { process_.source->client.threads[0].submissions.fetch_add(1); }
  void mark_slot() { process_.source->client.slots.store(1); }

  void allocate() {
    if (away_) come();
    const std::uint64_t sizes[] = {
        1 + below(5000), kManagedMiB, 2 * kManagedMiB, 20 * kManagedMiB, 1 + below(3 * kManagedMiB), large_};
    const std::uint64_t size = sizes[below(6)];
    std::uint64_t at = 0;
    process_.source->permit.memory.refused.store(UINT64_MAX);  // whoever asks hears no
    if (process_.memory.allocate(size, process_.owner(), at) != MemoryDriver::kSuccess) return;
    const auto found = process_.memory.find(at + size / 2);
    REQUIRE((found && found->address == at && found->size == size));
    write_all(at, size);
    mark_slot();
    submit();
  }
  void free() {
    if (blocks_.empty()) return;
    auto at = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(below(blocks_.size())));
    if (created_.count(at->first) != 0) return unmap();
    REQUIRE(process_.memory.free(at->first));
    REQUIRE(!process_.memory.free(at->first));
    blocks_.erase(at);
  }
  void write() {
    if (away_) come();
    for (auto& [at, words] : blocks_)
      for (auto& [address, value] : words)
        if (below(8) == 0) value = process_.device.word(address) = random_();
    mark_slot();
    submit();
  }
  void create() {
    if (away_) come();
    const std::uint64_t size = 2 * kManagedMiB * (1 + below(4));
    std::uint64_t handle = 0, at = 0;
    if (process_.memory.create(size, {}, 7, handle) != MemoryDriver::kSuccess) return;
    process_.device.reserve(size, at);
    REQUIRE(process_.memory.map(at, size, 0, handle) == MemoryDriver::kSuccess);
    REQUIRE(process_.memory.allow(at, size, {{0, 3}}) == MemoryDriver::kSuccess);
    created_[at] = {size, handle};
    write_all(at, size);
    mark_slot();
    submit();
    if (below(2) == 0) {  // the mapping alone keeps it
      REQUIRE(process_.memory.release(handle) == MemoryDriver::kSuccess);
      created_[at].second = 0;
    }
  }
  void unmap() {
    if (created_.empty()) return;
    const auto which = created_.begin();
    REQUIRE(process_.memory.unmap(which->first, which->second.first) == MemoryDriver::kSuccess);
    if (which->second.second != 0)
      REQUIRE(process_.memory.release(which->second.second) == MemoryDriver::kSuccess);
    blocks_.erase(which->first);
    created_.erase(which);
  }
  // Of what it has passed on and somebody else has used, it gets back some.
  void lend() {
    for (const PassedMemory& piece : process_.lender.passed()) {
      REQUIRE(piece.size == process_.source->permit.memory.pass.load());
      FakeMemory::spoil(piece.file->get());
      if (below(4) == 0) continue;
      REQUIRE(process_.lender.lend(piece));
      lent_ += piece.size;
    }
  }
  void come() {
    lend();
    process_.order(Goal::here);
    for (int more = 0; !process_.carried_out() || process_.source->client.memory.away.load() != 0; ++more) {
      REQUIRE(more < 3);
      process_.order(Goal::here);
    }
    away_ = false;
    REQUIRE(process_.source->client.memory.lent.load() == lent_);
    check();
  }
  void move() {
    if (away_) return come();
    const char* faults[] = {"copy", "copied", "create", "map", "pin", "allow", "share", "adopt"};
    const std::uint64_t pieces[] = {0, large_, 512 * kManagedMiB, 138 * kManagedMiB};
    if (passes_) process_.passes(pieces[below(4)]);
    if (below(4) == 0) process_.device.plant(faults[below(8)], static_cast<int>(below(6)));
    process_.order(Goal::away);
    const MemoryStanding& standing = process_.source->client.memory;
    if (standing.away.load() == standing.movable.load()) {
      REQUIRE(process_.device.used() == standing.fixed.load());
      REQUIRE(standing.claimed.load() == process_.device.used());
    }
    away_ = standing.away.load() != 0;
    if (!away_) check();
    process_.device.plant("", 0);
  }

  MovedProcess& process_;
  std::mt19937_64 random_;
  std::uint64_t large_;  // bytes of the largest allocations
  std::map<std::uint64_t, Words> blocks_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> created_;  // size, handle
  bool away_ = false, passes_ = false;
  std::uint64_t lent_ = 0;
};

TEST_CASE("Contents are the same after any sequence of moves", "[live][memory][long]") {
  std::uint64_t lent = 0;
  for (const int seed : gangway::testing::case_numbers(120, 100'000)) {
    const bool large = seed % 8 == 0;
    MovedProcess process((large ? 2400 : 400) * kManagedMiB);
    RandomProgram program(process, static_cast<std::uint64_t>(seed), (large ? 650 : 70) * kManagedMiB,
                          seed % 3 != 0);
    for (int step = 0; step < 40; ++step) program.step();
    program.end();
    const MemoryStanding& standing = process.source->client.memory;
    REQUIRE(standing.movable.load() == standing.claimed.load());
    REQUIRE(process.device.used() <= 66 * kManagedMiB);  // what is kept for the next allocations
    REQUIRE(process.device.largest_copy <= 64 * kManagedMiB);
    REQUIRE(process.device.largest_pinned <= 512 * kManagedMiB);
    lent += program.lent();
  }
  CHECK(lent > 0);
}

TEST_CASE("A large allocation has few pieces, and access is set once", "[live][memory]") {
  struct Case {
    std::uint64_t size;
    int pieces;
  };
  for (const auto& [size, pieces] :
       {Case{2, 1}, {64, 1}, {512, 1}, {514, 1}, {1024, 1}, {8192, 1}, {8194, 2}, {17000, 3}}) {
    CAPTURE(size);
    MovedProcess process(18000 * kManagedMiB);
    std::uint64_t at = 0;
    REQUIRE(process.memory.allocate(size * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
    CHECK(process.device.calls["create"] == pieces);
    CHECK(process.device.calls["map"] == pieces);
    CHECK(process.device.calls["allow"] == 1);
    CHECK(process.device.used() == size * kManagedMiB);
    std::vector<std::uint64_t> marks;  // around each end of a piece, and at both ends
    for (std::uint64_t mark = 0; mark < size; mark += 512) marks.insert(marks.end(), {mark, mark + 2});
    marks.push_back(size);
    const auto word = [&](std::uint64_t mark) -> std::uint64_t& {
      return process.device.word(at + mark * kManagedMiB - (mark == 0 ? 0 : FakeMemory::kWord));
    };
    for (const std::uint64_t mark : marks) word(std::min(mark, size)) = mark + 5;
    for (int move = 0; move < 3; ++move) {
      process.order(Goal::away);
      CHECK(process.device.used() == 0);
      process.device.calls.clear();
      process.order(Goal::here);
      CHECK(process.device.calls["create"] == static_cast<int>((size + 511) / 512));
      for (const std::uint64_t mark : marks) CHECK(word(std::min(mark, size)) == std::min(mark, size) + 5);
      for (const std::uint64_t mark : marks) word(std::min(mark, size)) = std::min(mark, size) + 5;
      process.source->client.slots.store(1);
      process.source->client.threads[0].submissions.fetch_add(1);
    }
    CHECK(process.device.largest_copy <= 64 * kManagedMiB);
    CHECK(process.device.largest_pinned <= 512 * kManagedMiB);
    REQUIRE(process.memory.free(at));
    CHECK(process.device.used() <= 64 * kManagedMiB);  // nothing of a large piece is kept
  }
}

TEST_CASE("While the driver gets or frees memory for it, the client says so", "[live][memory]") {
  MovedProcess process(9000 * kManagedMiB);
  const std::atomic<std::uint32_t>& changing = process.source->client.memory.changing;
  int calls = 0;
  process.device.meanwhile = [&] {
    ++calls;
    CHECK(changing.load() == 1);
  };
  std::uint64_t at = 0, handle = 0;
  REQUIRE(process.memory.allocate(1024 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.free(at));
  CHECK(changing.load() == 0);
  REQUIRE(process.memory.create(2 * kManagedMiB, {}, 7, handle) == MemoryDriver::kSuccess);
  constexpr std::uint64_t kAnyAddress = std::uint64_t{1} << 45;
  REQUIRE(process.memory.map(kAnyAddress, 2 * kManagedMiB, 0, handle) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.allow(kAnyAddress, 2 * kManagedMiB, {{0, 3}}) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.unmap(kAnyAddress, 2 * kManagedMiB) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.release(handle) == MemoryDriver::kSuccess);
  CHECK(changing.load() == 0);
  CHECK(calls == 10);  // create, map, access, unmap, release
}

TEST_CASE("Small allocations behind a large one take no large piece", "[live][memory]") {
  MovedProcess process(9000 * kManagedMiB);
  std::uint64_t large = 0, at = 0;
  REQUIRE(process.memory.allocate(4096 * kManagedMiB, process.owner(), large) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.allocate(2 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  CHECK(process.device.used() <= (4096 + 64) * kManagedMiB);
  REQUIRE(process.memory.free(large));
  CHECK(process.device.used() <= 64 * kManagedMiB);
}

TEST_CASE("A large piece is whole until it leaves, then parts of it can go", "[live][memory]") {
  MovedProcess process(4000 * kManagedMiB);
  std::uint64_t large = 0, small = 0;
  REQUIRE(process.memory.allocate(2048 * kManagedMiB, process.owner(), large) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.free(large, UINT64_MAX));
  CHECK(process.device.used() == 2048 * kManagedMiB);
  REQUIRE(process.memory.allocate(64 * kManagedMiB, process.owner(), small) == MemoryDriver::kSuccess);
  REQUIRE(small == large);
  process.device.word(small) = 7;
  CHECK(!process.memory.release_idle(0));
  process.order(Goal::away);
  process.order(Goal::here);
  CHECK(process.memory.release_idle(0));
  CHECK(process.device.used() == 512 * kManagedMiB);
  CHECK(process.device.word(small) == 7);
  CHECK(process.source->client.memory.movable.load() == process.device.used());
}

TEST_CASE("Memory that an allocation leaves stays as its pool asks", "[live][memory]") {
  struct Case {
    std::uint64_t keep, used, after_release;
  };
  for (const auto& [keep, used, after_release] :
       {Case{0, 0, 0}, {200, 200, 100}, {UINT64_MAX >> 20, 300, 100}}) {
    CAPTURE(keep);
    MovedProcess process(1000 * kManagedMiB);
    std::uint64_t at[3] = {};
    for (std::uint64_t& each : at)
      REQUIRE(process.memory.allocate(100 * kManagedMiB, process.owner(), each) == MemoryDriver::kSuccess);
    for (const std::uint64_t each : at) REQUIRE(process.memory.free(each, keep * kManagedMiB));
    CHECK(process.device.used() == used * kManagedMiB);
    CHECK(process.memory.release_idle(100 * kManagedMiB) == (used > after_release));
    CHECK(process.device.used() == after_release * kManagedMiB);
    CHECK(process.memory.release_idle(0) == (after_release > 0));
    CHECK(process.device.used() == 0);
  }
}

TEST_CASE("Where the device lacks memory, what is idle goes before more is asked for", "[live][memory]") {
  MovedProcess process(200 * kManagedMiB);
  std::uint64_t first = 0, behind = 0, at = 0;
  REQUIRE(process.memory.allocate(100 * kManagedMiB, process.owner(), first) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.allocate(10 * kManagedMiB, process.owner(), behind) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.free(first, UINT64_MAX));
  REQUIRE(process.device.used() >= 110 * kManagedMiB);
  process.source->permit.memory.refused.store(UINT64_MAX);
  CHECK(process.memory.allocate(150 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  CHECK(process.source->client.memory.asked.load() == 0);
}

TEST_CASE("An allocation is reused for one of its size class only", "[live][memory]") {
  MovedProcess process(1000 * kManagedMiB);
  process.memory.declare_read_only({6 * kManagedMiB}, false);
  std::uint64_t small = 0, large = 0, declared = 0;
  REQUIRE(process.memory.allocate(1000, process.owner(), small) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.allocate(5 * kManagedMiB, process.owner(), large) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.allocate(6 * kManagedMiB, process.owner(), declared) == MemoryDriver::kSuccess);
  CHECK(process.memory.reuse(small, 513, process.owner()));
  CHECK(process.memory.find(small)->size == 513);
  CHECK(!process.memory.reuse(small, 512, process.owner()));
  CHECK(!process.memory.reuse(small, 1025, process.owner()));
  CHECK(!process.memory.reuse(small + 1, 513, process.owner()));
  CHECK(process.memory.reuse(large, 6 * kManagedMiB - 1, process.owner()));
  CHECK(!process.memory.reuse(large, 6 * kManagedMiB, process.owner()));  // that size is read-only
  CHECK(!process.memory.reuse(large, 4 * kManagedMiB, process.owner()));
  CHECK(process.memory.reuse(declared, 6 * kManagedMiB, process.owner()));
  CHECK(!process.memory.reuse(declared, 6 * kManagedMiB - 1, process.owner()));

  // Reused, it is to be written anew, so what the host has of it is old.
  process.device.word(declared) = 1;
  process.order(Goal::away);
  process.order(Goal::here);
  REQUIRE(process.memory.reuse(declared, 6 * kManagedMiB, process.owner()));
  process.device.word(declared) = 2;
  process.order(Goal::away);
  process.order(Goal::here);
  CHECK(process.device.word(declared) == 2);
}

TEST_CASE("An allocation whose access cannot be set leaves nothing behind", "[live][memory]") {
  MovedProcess process(2000 * kManagedMiB);
  std::uint64_t at = 0;
  process.device.plant("allow", 0);
  CHECK(process.memory.allocate(1024 * kManagedMiB, process.owner(), at) == 999);
  CHECK(process.device.used() == 0);
  CHECK(process.source->client.memory.claimed.load() == 0);
  CHECK(process.source->client.memory.movable.load() == 0);
  REQUIRE(process.memory.allocate(1024 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
}

TEST_CASE("A large piece comes only when there is room for all of it", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  std::uint64_t at = 0;
  REQUIRE(process.memory.allocate(500 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  process.device.word(at) = 3;
  process.order(Goal::away);
  // The room that another client lets go of comes bit by bit.
  const MemoryStanding& standing = process.source->client.memory;
  MemoryOrders& orders = process.source->permit.memory;
  orders.budget.store(300 * kManagedMiB);
  std::uint64_t away_before = 0;
  std::thread others([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    away_before = standing.away.load();
    orders.budget.store(500 * kManagedMiB);
  });
  process.order(Goal::here);
  others.join();
  CHECK(away_before == 500 * kManagedMiB);
  CHECK(standing.claimed.load() == 500 * kManagedMiB);
  CHECK(process.device.word(at) == 3);
}

TEST_CASE("Who frees memory while the state waits for room waits for its turn, and says so",
          "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  std::uint64_t first = 0, second = 0;
  REQUIRE(process.memory.allocate(100 * kManagedMiB, process.owner(), first) == MemoryDriver::kSuccess);
  REQUIRE(process.memory.allocate(100 * kManagedMiB, process.owner(), second) == MemoryDriver::kSuccess);
  process.source->permit.allowed.store(0);
  process.order(Goal::away);
  MemoryOrders& orders = process.source->permit.memory;
  orders.budget.store(100 * kManagedMiB);
  const auto reaches = [](const auto& condition) {
    for (int look = 0; look < 5000 && !condition(); ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
  };
  std::thread mover([&] { process.order(Goal::here); });
  const MemoryStanding& standing = process.source->client.memory;
  CHECK(reaches([&] { return standing.away.load() == 100 * kManagedMiB; }));
  std::thread program([&] { CHECK(process.memory.free(first)); });
  // The daemon gives room to who waits for the GPU. Otherwise it would take the client for idle.
  CHECK(reaches([&] { return process.source->client.waiting.load() == 1; }));
  orders.budget.store(200 * kManagedMiB);
  mover.join();
  process.source->permit.allowed.store(kUnlimited);
  program.join();
  CHECK(process.device.used() <= 164 * kManagedMiB);
}

TEST_CASE("Memory beyond the budget is asked for, and not created", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  process.source->permit.memory.budget.store(64 * kManagedMiB);
  process.source->permit.memory.refused.store(UINT64_MAX);
  std::uint64_t at = 0;
  CHECK(process.memory.allocate(128 * kManagedMiB, process.owner(), at) == MemoryDriver::kNoMemory);
  CHECK(process.device.used() == 0);
  CHECK(process.source->client.memory.claimed.load() == 0);
  CHECK(process.source->client.memory.want.load() == 128 * kManagedMiB);
  process.source->permit.memory.host.store(128 *
                                           kManagedMiB);  // the daemon gives it none before that is there
  while (process.mover.turn()) {
  }
  CHECK(process.source->client.memory.host.load() == 128 * kManagedMiB);
  CHECK(process.source->client.memory.no_host.load() == 0);
  CHECK(process.memory.allocate(64 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  CHECK(process.memory.allocate(1, process.owner(), at) == MemoryDriver::kNoMemory);
  process.source->permit.memory.budget.store(66 * kManagedMiB);
  CHECK(process.memory.allocate(1, process.owner(), at) == MemoryDriver::kSuccess);
}

// The daemon may look at any time, and counts what is claimed as held.
TEST_CASE("Nobody sees a claim that is beyond the budget", "[live][memory]") {
  MovedProcess process(10 * kManagedMiB);
  Claims& claims = process.memory.claims();
  REQUIRE(claims.claim(6 * kManagedMiB));
  std::atomic<int> looks{0};
  std::uint64_t most = 0;
  std::thread daemon([&] {
    for (; looks.load() < 100'000; looks.fetch_add(1)) most = std::max(most, process.memory.claimed());
  });
  int kept = 0;
  while (looks.load() < 100'000) kept += claims.claim(5 * kManagedMiB) ? 1 : 0;
  daemon.join();
  CHECK(kept == 0);
  CHECK(most == 6 * kManagedMiB);
}

TEST_CASE("Work of threads without a slot counts", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  std::uint64_t at = 0;
  REQUIRE(process.memory.allocate(20 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  process.order(Goal::away);
  process.order(Goal::here);
  process.device.word(at) = 7;
  process.source->client.crowd_submissions.store(1);
  process.order(Goal::away);
  process.order(Goal::here);
  CHECK(process.device.word(at) == 7);
}

TEST_CASE("A daemon that is gone leaves a closed gate until the state is back", "[live][memory]") {
  MovedProcess process(512 * kManagedMiB);
  std::uint64_t at = 0;
  REQUIRE(process.memory.allocate(100 * kManagedMiB, process.owner(), at) == MemoryDriver::kSuccess);
  process.order(Goal::away);
  process.gate.open_to_all();
  CHECK(process.gate.closed());
  while (process.mover.turn()) {
  }
  CHECK(!process.gate.closed());
  CHECK(process.device.used() == 100 * kManagedMiB);
}

}  // namespace
}  // namespace gangway::live

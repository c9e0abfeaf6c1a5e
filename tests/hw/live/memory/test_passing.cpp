// Memory that is passed on: both ends of the channel, two processes, and whom the keeper lends it to.
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/catch.hpp"
#include "tests/hw/live/memory/kept_fake.hpp"
#include "tests/hw/live/memory/moved_process.hpp"

namespace gangway::live {
namespace {

using testing::FakeDriver;
using testing::FakeMemory;
using testing::FakeSource;
using testing::KeptFake;
using testing::kKeptMiB;
using testing::kManagedMiB;
using testing::managed;
using testing::MovedProcess;

struct Ends {
  Ends() {
    source.channel = lender.client_end();
    gate.introduce();
  }
  FakeDriver driver;
  FakeSource source;
  Lender lender;
  Gate gate{driver, source};
  Passing passing{gate};
};

Descriptor a_file() { return Descriptor(memfd_create("piece", MFD_CLOEXEC)); }

// Whether the file behind the descriptor of this number is open anywhere in this process.
bool open_here(const std::shared_ptr<Descriptor>& file) {
  return file.use_count() != 0 && fcntl(file->get(), F_GETFD) != -1;
}

TEST_CASE("a piece keeps its number and the daemon's file, whoever has it", "[live][memory]") {
  Ends one, other;
  CHECK(!one.lender.passed());
  const Descriptor file = a_file();
  REQUIRE(one.passing.pass(0, 64, file.get()));
  auto piece = one.lender.passed();
  REQUIRE(piece);
  CHECK(piece->size == 64);
  CHECK(piece->number != 0);
  CHECK(open_here(piece->file));
  const std::weak_ptr<Descriptor> kept = piece->file;
  const std::uint64_t number = piece->number;

  REQUIRE(other.lender.lend(*piece));
  piece.reset();
  CHECK(!kept.expired());  // the lender has it
  const auto lent = other.passing.lent(64);
  REQUIRE(lent);
  CHECK(lent->number == number);
  CHECK(lent->file);
  CHECK(other.source.client.memory.lent.load() == 64);
  CHECK(!other.passing.lent(64));

  REQUIRE(other.passing.pass(number, 64, -1));  // no file comes with it
  piece = other.lender.passed();
  REQUIRE(piece);
  CHECK(piece->number == number);
  CHECK(piece->file == kept.lock());
  CHECK(!other.lender.passed());
  piece.reset();
  CHECK(kept.expired());
}

TEST_CASE("what a client frees or does not take is free", "[live][memory]") {
  Ends one;
  std::vector<std::weak_ptr<Descriptor>> files;
  for (const std::uint64_t size : {64, 128, 64, 64}) {
    REQUIRE(one.passing.pass(0, size, a_file().get()));
    const auto piece = one.lender.passed();
    REQUIRE(piece);
    files.push_back(piece->file);
    REQUIRE(one.lender.lend(*piece));
  }
  const auto kept = [&] {
    static_cast<void>(one.lender.passed());
    std::vector<bool> all;
    for (const auto& file : files) all.push_back(!file.expired());
    return all;
  };
  const auto first = one.passing.lent(64);
  REQUIRE(first);
  CHECK(kept() == std::vector<bool>{true, true, true, true});
  const auto third = one.passing.lent(64);  // one of another size comes before it
  REQUIRE(third);
  CHECK(kept() == std::vector<bool>{true, false, true, true});
  one.passing.decline();
  CHECK(kept() == std::vector<bool>{true, false, true, false});
  CHECK(one.source.client.memory.lent.load() == 64 + 128 + 64 + 64);
  one.passing.freed(first->number);
  CHECK(kept() == std::vector<bool>{false, false, true, false});
  one.passing.freed(first->number);  // nobody knows of it
  CHECK(kept() == std::vector<bool>{false, false, true, false});
}

TEST_CASE("nothing that is freed is forgotten while the daemon does not listen", "[live][memory]") {
  Ends one;
  std::vector<std::uint64_t> numbers;
  std::vector<std::weak_ptr<Descriptor>> files;
  for (int n = 0; n < 2000; ++n) {
    REQUIRE(one.passing.pass(0, 64, a_file().get()));
    const auto piece = one.lender.passed();
    REQUIRE(piece);
    REQUIRE(one.lender.lend(*piece));
    const auto lent = one.passing.lent(64);
    REQUIRE(lent);
    numbers.push_back(lent->number);
    files.push_back(piece->file);
  }
  for (const std::uint64_t number : numbers) one.passing.freed(number);  // more than the channel holds
  for (int turn = 0; turn < 100; ++turn) {
    static_cast<void>(one.lender.passed());
    one.passing.decline();
  }
  for (const auto& file : files) REQUIRE(file.expired());
}

TEST_CASE("without a daemon nothing is passed on, and one that has gone takes nothing", "[live][memory]") {
  FakeDriver driver;
  FakeSource source;
  Gate gate{driver, source};
  gate.introduce();
  Passing passing{gate};
  CHECK(!passing.possible());
  CHECK(!passing.pass(0, 64, a_file().get()));
  CHECK(!passing.lent(64));
  passing.freed(5);
  {
    Lender lender;
    source.channel = dup(lender.client_end());
    lender.welcomed();
    CHECK(passing.possible());
    CHECK(passing.pass(0, 64, a_file().get()));
  }
  CHECK(!passing.pass(0, 64, a_file().get()));
  CHECK(!passing.lent(64));
  passing.freed(5);
  close(source.channel);
}

TEST_CASE("a client that makes no sense is not listened to", "[live][memory]") {
  Ends one;
  SECTION("a piece without a file") {
    CHECK(one.passing.pass(0, 64, -1));
    CHECK(!one.lender.passed());
  }
  SECTION("a piece that was not lent to it") {
    CHECK(one.passing.pass(77, 64, -1));
    CHECK(!one.lender.passed());
  }
  SECTION("no record") {
    const Descriptor file = a_file();
    const int number = file.get();
    REQUIRE(send_record(one.source.channel, "junk", 4, &number, 1));
    REQUIRE(one.passing.pass(0, 64, file.get()));
    CHECK(!one.lender.passed());
    CHECK(!one.lender.passed());
    CHECK(!one.lender.lend({1, 64, std::make_shared<Descriptor>(a_file())}));
  }
}

// The words of a state of 512 and 138 MiB.
struct Stateful : MovedProcess {
  explicit Stateful(std::uint64_t first) : MovedProcess(1000 * kManagedMiB), value(first) {
    passes(512 * kManagedMiB);
    REQUIRE(memory.allocate(650 * kManagedMiB, owner(), at) == MemoryDriver::kSuccess);
    for (std::uint64_t a = at; a < at + 650 * kManagedMiB; a += kManagedMiB) device.word(a) = value + a;
    source->client.slots.store(1);
    used();
  }
  void used() { source->client.threads[0].submissions.fetch_add(1); }
  void check() {
    for (std::uint64_t a = at; a < at + 650 * kManagedMiB; a += kManagedMiB)
      REQUIRE(device.word(a) == value + a);
  }
  std::uint64_t value, at = 0;
};

TEST_CASE("a state comes into the memory of one that has left", "[live][memory]") {
  Stateful a(1000), b(2000);
  b.order(Goal::away);  // for the first time: nobody could share it
  CHECK(!b.lender.passed());
  CHECK(b.source->client.memory.passed.load() == 0);
  b.order(Goal::here);
  b.used();
  for (int turn = 0; turn < 3; ++turn) {
    for (auto [leaves, comes] : {std::pair(&b, &a), std::pair(&a, &b)}) {
      if (turn == 0 && comes == &a) comes->order(Goal::away);
      leaves->order(Goal::away);
      const auto piece = leaves->lender.passed();
      REQUIRE(piece);
      CHECK(!leaves->lender.passed());
      CHECK(leaves->device.used() == 0);
      REQUIRE(comes->lender.lend(*piece));
      comes->device.calls.clear();
      comes->order(Goal::here);
      CHECK(comes->device.calls["create"] == 1);
      CHECK(comes->device.calls["adopt"] == 1);
      comes->check();
      comes->used();
    }
  }
  CHECK(b.source->client.memory.passed.load() == 3 * 512 * kManagedMiB);
  b.order(Goal::away);
  const auto piece = b.lender.passed();
  REQUIRE(piece);
  SECTION("what cannot be adopted is created") {
    a.order(Goal::away);
    static_cast<void>(a.lender.passed());
    a.device.plant("adopt", 0);
    REQUIRE(a.lender.lend(*piece));
    a.order(Goal::here);
    a.check();
  }
  SECTION("nor what cannot be mapped") {
    a.order(Goal::away);
    static_cast<void>(a.lender.passed());
    a.device.plant("map", 0);
    REQUIRE(a.lender.lend(*piece));
    a.order(Goal::here);
    a.check();
  }
  SECTION("a piece that was lent and is freed by the program") {
    const std::weak_ptr<Descriptor> file = piece->file;
    REQUIRE(b.lender.lend(*piece));
    b.order(Goal::here);
    const_cast<std::optional<PassedMemory>&>(piece).reset();
    CHECK(!file.expired());
    REQUIRE(b.memory.free(b.at));
    static_cast<void>(b.lender.passed());
    CHECK(file.expired());
  }
}

// --- The keeper

struct Passer : KeptFake {
  std::uint64_t owner() const override { return of; }
  void pass(std::uint64_t size) override { asked = size; }
  std::optional<PassedMemory> passed() override {
    if (notes.empty()) return std::nullopt;
    const PassedMemory first = notes.front();
    notes.erase(notes.begin());
    return first;
  }
  bool lend(const PassedMemory& memory) override {
    if (listens) lent.push_back(memory);
    return listens;
  }
  // Lets go of a piece, passed on or freed.
  void lets_go(std::uint64_t size, bool on, const std::shared_ptr<Descriptor>& file = {}) {
    if (on) notes.push_back({1, size, file});
    seen.claimed -= size;
    seen.away += size;
  }
  // Takes a piece that was lent.
  void takes() {
    REQUIRE(!lent.empty());
    seen.claimed += lent.front().size;
    seen.lent += lent.front().size;
    seen.away -= lent.front().size;
    lent.erase(lent.begin());
  }

  std::uint64_t of = 1, asked = 0;
  bool listens = true;
  std::vector<PassedMemory> notes, lent;
};

// Of 100 MiB a has 60, which leaves; b's 60 comes, piece by piece of 20.
struct Swap {
  explicit Swap(std::uint64_t other_owner = 1) {
    b.of = other_owner;
    for (Passer* each : {&a, &b}) {
      each->seen.host = 60 * kKeptMiB;
      keeper.comes(*each);
    }
    a.holds(60 * kKeptMiB);
    b.holds(60 * kKeptMiB);
    b.seen.claimed = 0;
    b.seen.away = 60 * kKeptMiB;
    a.looks(40 * kKeptMiB, 100 * kKeptMiB);
    step();
    keeper.permit(b, kUnlimited, Time{ms});
    step();
  }
  void step() {
    keeper.step(Time{++ms});
    REQUIRE(std::max(a.budgeted, a.seen.claimed) + std::max(b.budgeted, b.seen.claimed) <= 100 * kKeptMiB);
  }
  Keeper keeper{managed()};
  Passer a, b;
  std::int64_t ms = 0;
};

constexpr std::uint64_t kPiece = 20 * kKeptMiB;

TEST_CASE("a client that leaves passes on what another one of its owner waits for", "[live][memory]") {
  Swap swap;
  auto& [keeper, a, b, ms] = swap;
  REQUIRE(a.goal == Goal::away);
  REQUIRE(b.goal == Goal::here);
  REQUIRE(b.budgeted == 40 * kKeptMiB);  // what was free
  CHECK(a.asked == 0);                   // b has not said yet what it wants
  b.seen.piece = kPiece;
  swap.step();
  CHECK(a.asked == kPiece);
  const auto file = std::make_shared<Descriptor>();
  a.lets_go(kPiece, true, file);
  swap.step();
  REQUIRE(b.lent.size() == 1);
  CHECK(b.lent[0].file == file);
  CHECK(b.budgeted == 60 * kKeptMiB);
  CHECK(a.asked == 0);  // b has room for all it wants
  b.seen.claimed = 40 * kKeptMiB;
  b.seen.away = kPiece;
  b.takes();
  swap.step();
  CHECK(b.budgeted == 60 * kKeptMiB);
  a.lets_go(2 * kPiece, false);
  a.seen.done = a.number;
  swap.step();
  CHECK(b.lent.empty());
}

TEST_CASE("nobody is lent another owner's memory", "[live][memory]") {
  Swap swap(2);
  auto& [keeper, a, b, ms] = swap;
  b.seen.piece = kPiece;
  swap.step();
  CHECK(a.asked == 0);
  const auto file = std::make_shared<Descriptor>();
  a.lets_go(kPiece, true, file);  // unasked
  swap.step();
  CHECK(b.lent.empty());
  CHECK(file.use_count() == 1);        // it is free
  CHECK(b.budgeted == 60 * kKeptMiB);  // and its room is b's
}

TEST_CASE("what nobody takes is free", "[live][memory]") {
  Swap swap;
  auto& [keeper, a, b, ms] = swap;
  b.seen.piece = kPiece;
  swap.step();
  REQUIRE(a.asked == kPiece);
  const auto file = std::make_shared<Descriptor>();
  SECTION("it does not listen") { b.listens = false; }
  SECTION("its next piece is of another size") { b.seen.piece = kPiece / 2; }
  a.lets_go(kPiece, true, file);
  swap.step();
  CHECK(b.lent.empty());
  CHECK(file.use_count() == 1);
  swap.step();
  CHECK(b.budgeted == 60 * kKeptMiB);
}

TEST_CASE("what was lent counts until it is claimed or declined", "[live][memory]") {
  Swap swap;
  auto& [keeper, a, b, ms] = swap;
  b.seen.piece = kPiece;
  swap.step();
  a.lets_go(kPiece, true);
  swap.step();
  REQUIRE(b.lent.size() == 1);
  // It is told to leave before it has taken it; then its budget is nothing.
  Passer c;
  c.seen.host = 60 * kKeptMiB;
  keeper.permit(b, 0, Time{ms});
  keeper.comes(c);
  c.holds(60 * kKeptMiB);
  c.seen.claimed = 0;
  c.seen.away = 60 * kKeptMiB;
  c.seen.piece = kPiece;
  keeper.permit(c, kUnlimited, Time{ms});
  for (int n = 0; n < 3; ++n) swap.step();
  CHECK(b.budgeted + c.budgeted + a.seen.claimed <= 100 * kKeptMiB);
  if (b.budgeted < kPiece) CHECK(c.budgeted + a.seen.claimed + kPiece <= 100 * kKeptMiB);
  const std::uint64_t before = c.budgeted;
  b.seen.lent += kPiece;  // declined
  b.seen.done = b.number;
  for (int n = 0; n < 3; ++n) swap.step();
  CHECK(c.budgeted >= before);
}

TEST_CASE("a client cannot pass on more than it had", "[live][memory]") {
  Swap swap;
  auto& [keeper, a, b, ms] = swap;
  b.seen.piece = kPiece;
  swap.step();
  for (int n = 0; n < 100; ++n) a.notes.push_back({1, kPiece, {}});
  a.notes.push_back({1, std::uint64_t{1} << 62, {}});
  swap.step();
  CHECK(b.lent.size() <= 3);
  CHECK(b.budgeted <= 60 * kKeptMiB);
}

}  // namespace
}  // namespace gangway::live

// Whom the keeper lends memory that was passed on.
#include "tests/catch.hpp"
#include "tests/hw/live/memory/kept_fake.hpp"

namespace gangway::live {
namespace {

using testing::KeptFake;
using testing::kKeptMiB;
using testing::managed;

struct Passer : KeptFake {
  std::uint64_t owner() const override { return of; }
  void pass(std::uint64_t size) override { asked = size; }
  std::vector<PassedMemory> passed() override { return std::exchange(notes, {}); }
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

// Of 1000 MiB a has 600, which leaves; b's 600 comes, piece by piece of 200.
struct Swap {
  explicit Swap(std::uint64_t other_owner = 1) {
    b.of = other_owner;
    for (Passer* each : {&a, &b}) {
      each->seen.host = 600 * kKeptMiB;
      keeper.comes(*each);
    }
    a.holds(600 * kKeptMiB);
    b.holds(600 * kKeptMiB);
    b.seen.claimed = 0;
    b.seen.away = 600 * kKeptMiB;
    a.looks(400 * kKeptMiB, 1000 * kKeptMiB);
    step();
    keeper.permit(b, kUnlimited, Time{ms});
    step();
  }
  void step() {
    keeper.step(Time{++ms});
    REQUIRE(std::max(a.budgeted, a.seen.claimed) + std::max(b.budgeted, b.seen.claimed) <= 1000 * kKeptMiB);
  }
  Keeper keeper{managed()};
  Passer a, b;
  std::int64_t ms = 0;
};

constexpr std::uint64_t kPiece = 200 * kKeptMiB;

TEST_CASE("a client that leaves passes on what another one of its owner waits for", "[live][memory]") {
  Swap swap;
  auto& [keeper, a, b, ms] = swap;
  REQUIRE(a.goal == Goal::away);
  REQUIRE(b.goal == Goal::here);
  REQUIRE(b.budgeted == 400 * kKeptMiB);  // what was free
  CHECK(a.asked == 0);                    // b has not said yet what it wants
  b.seen.piece = kPiece;
  swap.step();
  CHECK(a.asked == kPiece);
  const auto file = std::make_shared<Descriptor>();
  a.lets_go(kPiece, true, file);
  swap.step();
  REQUIRE(b.lent.size() == 1);
  CHECK(b.lent[0].file == file);
  CHECK(b.budgeted == 600 * kKeptMiB);
  CHECK(a.asked == 0);  // b has room for all it wants
  b.seen.claimed = 400 * kKeptMiB;
  b.seen.away = kPiece;
  b.takes();
  swap.step();
  CHECK(b.budgeted == 600 * kKeptMiB);
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
  CHECK(file.use_count() == 1);         // it is free
  CHECK(b.budgeted == 600 * kKeptMiB);  // and its room is b's
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
  CHECK(b.budgeted == 600 * kKeptMiB);
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
  c.seen.host = 600 * kKeptMiB;
  keeper.permit(b, 0, Time{ms});
  keeper.comes(c);
  c.holds(600 * kKeptMiB);
  c.seen.claimed = 0;
  c.seen.away = 600 * kKeptMiB;
  c.seen.piece = kPiece;
  keeper.permit(c, kUnlimited, Time{ms});
  for (int n = 0; n < 3; ++n) swap.step();
  CHECK(b.budgeted + c.budgeted + a.seen.claimed <= 1000 * kKeptMiB);
  if (b.budgeted < kPiece) CHECK(c.budgeted + a.seen.claimed + kPiece <= 1000 * kKeptMiB);
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
  CHECK(b.budgeted <= 600 * kKeptMiB);
}

// Of 1000 MiB; b's 400 are to come, in pieces of 200.
struct Three {
  Three(std::uint64_t a_has, std::uint64_t c_has) {
    for (Passer* each : {&a, &b, &c}) {
      each->seen.host = 1000 * kKeptMiB;
      keeper.comes(*each);
    }
    a.holds(a_has * kKeptMiB);
    b.holds(400 * kKeptMiB);
    c.holds(c_has * kKeptMiB);
    b.seen.claimed = 0;
    b.seen.away = 400 * kKeptMiB;
    a.looks((1000 - a_has - c_has) * kKeptMiB, 1000 * kKeptMiB);
    step();
  }
  void step() { keeper.step(Time{++ms}); }
  Keeper keeper{managed()};
  Passer a, b, c;
  std::int64_t ms = 0;
};

TEST_CASE("who is served first is not overtaken by one that takes pieces", "[live][memory]") {
  Three three(600, 200);
  auto& [keeper, a, b, c, ms] = three;
  keeper.permit(c, kUnlimited, Time{ms});
  keeper.permit(b, kUnlimited, Time{ms});
  three.step();
  c.seen.want = 800 * kKeptMiB;
  c.seen.asked = 1;
  b.seen.piece = kPiece;
  for (int n = 0; n < 3; ++n) three.step();
  REQUIRE(a.goal == Goal::away);
  CHECK(a.asked == 0);
  a.lets_go(600 * kKeptMiB, false);
  a.seen.done = a.number;
  for (int n = 0; n < 3; ++n) three.step();
  CHECK(c.budgeted >= 800 * kKeptMiB);
  CHECK(!c.refused);
}

TEST_CASE("nobody leaves for room that is being passed on", "[live][memory]") {
  Three three(400, 600);
  auto& [keeper, a, b, c, ms] = three;
  b.seen.piece = kPiece;
  keeper.permit(b, kUnlimited, Time{ms});
  three.step();
  three.step();
  REQUIRE(a.goal == Goal::away);
  REQUIRE(a.asked == kPiece);
  for (int n = 0; n < 2; ++n) {
    a.notes.push_back({1, kPiece, {}});
    a.seen.away += kPiece;
    three.step();
    three.step();
    CHECK(c.goal == Goal::here);
    a.seen.claimed -= kPiece;  // which it gives up last
    three.step();
    CHECK(c.goal == Goal::here);
    CHECK(b.lent.size() == static_cast<std::size_t>(n + 1));
  }
}

TEST_CASE("what a client has passed on is free when it has left and there is no room", "[live][memory]") {
  Three three(600, 400);
  auto& [keeper, a, b, c, ms] = three;
  b.seen.piece = kPiece;
  keeper.permit(b, kUnlimited, Time{ms});
  three.step();
  three.step();
  REQUIRE(a.asked == kPiece);
  c.seen.claimed = 900 * kKeptMiB;  // taken while there was no daemon
  const auto file = std::make_shared<Descriptor>();
  a.lets_go(kPiece, true, file);
  three.step();
  CHECK(b.lent.empty());
  a.lets_go(400 * kKeptMiB, false);
  a.seen.done = a.number;
  three.step();
  three.step();
  CHECK(file.use_count() == 1);
}

}  // namespace
}  // namespace gangway::live

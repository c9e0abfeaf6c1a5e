// Where the host has too little memory for the states that do not fit on the device together.
#include "tests/catch.hpp"
#include "tests/hw/live/memory/kept_fake.hpp"

namespace gangway::live {
namespace {

using testing::KeptFake;
using testing::kKeptMiB;
using testing::managed;

struct Told : MoveJournal {
  void moved(const KeptClient&, const char*, std::int64_t) override {}
  void cannot_leave(const KeptClient& client) override { who.push_back(&client); }
  std::vector<const KeptClient*> who;
};

// Three that want `each` MiB one after the other, of a device with room for one of 64; turns go round.
struct ThreeOnHost {
  ThreeOnHost(std::uint64_t host, bool processes) : whole(processes) {
    MemorySettings settings = managed();
    settings.capacity = 100 * kKeptMiB;
    settings.host = host * kKeptMiB;
    settings.whole = whole;
    keeper.emplace(settings, &told);
    for (KeptFake& client : clients) {
      keeper->comes(client);
      client.standing.waiting = true;
    }
  }
  void step() {
    keeper->step(Time{++ms * 1'000'000});
    for (KeptFake& client : clients) {
      if (client.goal == Goal::away && client.seen.done != client.number) client.carries_out();
      if (client.goal == Goal::here && client.seen.away != 0 && client.budgeted >= client.seen.movable)
        client.carries_out();
      if (client.goal == Goal::here && client.seen.away == 0) client.seen.done = client.number;
      if (whole) client.seen.host = client.seen.movable;
    }
  }
  // The client's turn. It asks for `want` MiB and takes them. False: refused.
  bool turn(KeptFake& client, std::uint64_t want) {
    for (KeptFake& other : clients)
      if (&other != &client) keeper->permit(other, 0, Time{ms * 1'000'000});
    keeper->permit(client, kUnlimited, Time{ms * 1'000'000});
    for (int k = 0; k < 20 && client.let == 0; ++k) step();
    REQUIRE(client.let == kUnlimited);
    client.seen.want = want * kKeptMiB;
    ++client.seen.asked;
    client.refused = false;
    for (int k = 0; k < 5000 && client.budgeted < client.seen.want && !client.refused; ++k) step();
    if (client.refused) return false;
    client.holds(client.seen.want);
    step();
    return true;
  }
  Told told;
  std::optional<Keeper> keeper;
  KeptFake clients[3];
  const bool whole;
  std::int64_t ms = 0;
};

TEST_CASE("who could never leave for lack of host memory gets none of the others' room") {
  const bool whole = GENERATE(false, true);
  const std::uint64_t size = GENERATE(64, 40);
  ThreeOnHost three(140, whole);
  auto& [a, b, c] = three.clients;
  REQUIRE(three.turn(a, 64));
  REQUIRE(three.turn(b, 64));
  CHECK(!three.turn(c, size));
  // Pieces that leave the others enough are welcome.
  if (!whole) CHECK(three.turn(c, 30));
  const std::int64_t before = three.ms;
  for (int round = 0; round < 3; ++round) {
    CHECK(three.turn(a, 64));
    CHECK(three.turn(b, 64));
  }
  CHECK(three.ms - before < 1000);
  CHECK(three.told.who.size() == (whole ? 0 : 1));
  if (!whole) {
    CHECK(three.told.who.front() == &c);
    CHECK(!three.keeper->facts(c).movable);
    CHECK(three.keeper->facts(a).movable);
  }
}

TEST_CASE("what is left of the host's memory is enough in smaller steps") {
  ThreeOnHost three(200, false);
  auto& [a, b, c] = three.clients;
  CHECK(three.turn(a, 64));
  CHECK(three.turn(b, 64));
  CHECK(three.turn(c, 66));  // 64 and 64 of the host's are the others'
  for (int round = 0; round < 3; ++round)
    for (KeptFake& client : three.clients) CHECK(three.turn(client, 64));
  CHECK(three.told.who.empty());
}

TEST_CASE("who grows ahead of its asks does not grow beyond its host memory") {
  MemorySettings settings = managed();
  settings.capacity = 1000 * kKeptMiB;
  settings.host = 600 * kKeptMiB;
  Keeper keeper(settings);
  KeptFake a, b;
  a.seen.movable = a.seen.away = a.seen.host = 600 * kKeptMiB;
  for (KeptFake* each : {&a, &b}) keeper.comes(*each);
  keeper.save(ClientId{0});
  keeper.permit(b, kUnlimited, Time{1});
  for (int ms = 1; ms < 3000; ++ms) {
    if (b.seen.asked == 0 || b.budgeted >= b.seen.want) {
      b.holds(b.budgeted);
      b.seen.want = b.budgeted + 20 * kKeptMiB;
      ++b.seen.asked;
    }
    keeper.step(Time{ms * 1'000'000LL});
    if (b.refused) break;
  }
  CHECK(b.refused);
  CHECK(b.budgeted <= 400 * kKeptMiB);
  CHECK(b.budgeted >= 380 * kKeptMiB);
}

TEST_CASE("an ask beside states that are away waits until its own state could leave, too") {
  const bool pins = GENERATE(true, false);
  ThreeOnHost three(1000, false);
  auto& [a, b, c] = three.clients;
  REQUIRE(three.turn(a, 64));
  b.pins = pins ? KeptFake::Pins::later : KeptFake::Pins::never;
  CHECK(three.turn(b, 64) == pins);
  CHECK(three.turn(a, 64));
  CHECK((b.seen.host >= 64 * kKeptMiB) == pins);
}

}  // namespace
}  // namespace gangway::live

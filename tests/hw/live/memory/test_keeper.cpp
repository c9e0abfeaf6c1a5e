// The daemon's side of clients' memory, with clients that do what a test says.
#include "hw/live/memory/keeper.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/memory/kept_fake.hpp"

namespace gangway::live {
namespace {

using testing::KeptFake;
using testing::kKeptMiB;
using testing::managed;

// Of whole processes.
MemorySettings whole(std::uint64_t capacity) {
  MemorySettings settings = managed();
  settings.capacity = capacity;
  settings.whole = true;
  return settings;
}

struct Two {
  Two() {
    keeper.comes(a);
    keeper.comes(b);
  }
  Keeper keeper{managed()};
  KeptFake a, b;
};

TEST_CASE("what others use is what is neither free nor claimed") {
  Two two;
  auto& [keeper, a, b] = two;
  CHECK(!keeper.capacity());
  b.holds(30 * kKeptMiB);
  keeper.step(Time{1});
  a.holds(20 * kKeptMiB);
  a.looks(40 * kKeptMiB, 100 * kKeptMiB);  // its own claims may have changed just before
  keeper.step(Time{2});
  CHECK(keeper.outside() == 10 * kKeptMiB);
  CHECK(*keeper.capacity() == 90 * kKeptMiB);
}

TEST_CASE("moves take as long as the two largest states need, while one is away") {
  Two two;
  auto& [keeper, a, b] = two;
  for (KeptFake* each : {&a, &b}) each->seen.host = 64 * kKeptMiB;
  a.holds(64 * kKeptMiB);
  b.holds(20 * kKeptMiB);
  b.looks(16 * kKeptMiB, 100 * kKeptMiB);
  keeper.permit(b, kUnlimited, Time{1});
  keeper.step(Time{1});
  CHECK(keeper.moves() == Duration{});
  b.seen.want = 60 * kKeptMiB;
  b.seen.asked = 1;
  for (int now = 2; now < 50 && a.goal != Goal::away; ++now) keeper.step(Time{now * 1'000'000});
  REQUIRE(a.goal == Goal::away);
  const Duration both{1'957'341};  // 84 MiB at 45 GB/s
  CHECK(std::abs((keeper.moves() - both).ns) <= 1);
  a.carries_out();
  keeper.step(Time{60'000'000});
  CHECK(std::abs((keeper.moves() - both).ns) <= 1);
}

TEST_CASE("a look does not count if others' claims changed around it") {
  Two two;
  auto& [keeper, a, b] = two;
  a.looks(100 * kKeptMiB, 100 * kKeptMiB);
  keeper.step(Time{1});
  b.holds(60 * kKeptMiB);
  keeper.step(Time{2});
  // As things were before b has let go of 40 MiB.
  a.looks(40 * kKeptMiB, 100 * kKeptMiB);
  b.holds(20 * kKeptMiB);
  keeper.step(Time{3});
  CHECK(keeper.outside() == 0);
  keeper.step(Time{4});
  a.looks(70 * kKeptMiB, 100 * kKeptMiB);
  keeper.step(Time{5});
  CHECK(keeper.outside() == 10 * kKeptMiB);
}

TEST_CASE("what a client saw before this daemon came does not count") {
  Keeper keeper(managed());
  KeptFake a, b;
  a.looks(30 * kKeptMiB, 160 * kKeptMiB);  // long ago
  a.holds(64 * kKeptMiB);
  b.holds(64 * kKeptMiB);
  keeper.comes(a);
  keeper.comes(b);
  keeper.step(Time{1});
  CHECK(keeper.outside() == 0);
  CHECK(*keeper.capacity() == 160 * kKeptMiB);
}

TEST_CASE("there is always room for the largest state") {
  Keeper keeper(managed());
  KeptFake a;
  keeper.comes(a);
  a.looks(100 * kKeptMiB, 100 * kKeptMiB);
  keeper.step(Time{1});
  CHECK(*keeper.capacity() == 100 * kKeptMiB);
  a.seen.movable = a.seen.away = 64 * kKeptMiB;
  a.looks(50 * kKeptMiB, 100 * kKeptMiB);  // somebody else came meanwhile
  keeper.step(Time{2});
  CHECK(keeper.outside() == 50 * kKeptMiB);
  CHECK(*keeper.capacity() == 64 * kKeptMiB);
}

TEST_CASE("a state leaves so that another one can come") {
  Two two;
  auto& [keeper, a, b] = two;
  a.looks(100 * kKeptMiB, 100 * kKeptMiB);
  keeper.step(Time{1});
  a.holds(60 * kKeptMiB);
  b.holds(40 * kKeptMiB);
  a.seen.host = b.seen.host = 64 * kKeptMiB;
  keeper.permit(a, kUnlimited, Time{2});
  keeper.step(Time{2});
  CHECK(a.let == kUnlimited);
  b.seen.want = 60 * kKeptMiB;
  b.seen.asked = 1;
  keeper.permit(a, 0, Time{3});
  keeper.permit(b, kUnlimited, Time{3});
  keeper.step(Time{3});
  CHECK(a.goal == Goal::away);
  CHECK(b.budgeted < 60 * kKeptMiB);
  a.carries_out();
  keeper.step(Time{4});
  keeper.step(Time{5});
  CHECK(b.budgeted >= 60 * kKeptMiB);
}

TEST_CASE("who came back while there was no daemon leaves again if the room is another one's") {
  MemorySettings settings = managed();
  settings.capacity = 96 * kKeptMiB;
  Keeper keeper(settings);
  KeptFake a, b;
  for (KeptFake* each : {&a, &b}) {
    each->seen.movable = each->seen.away = each->seen.host = 68 * kKeptMiB;
    each->standing.waiting = true;
    keeper.comes(*each);
  }
  keeper.permit(a, kUnlimited, Time{1});
  keeper.step(Time{1});
  REQUIRE(a.budgeted == 68 * kKeptMiB);
  b.seen.away = 0;  // it has not heard of this daemon yet
  b.seen.claimed = 68 * kKeptMiB;
  b.seen.done = b.number;
  keeper.step(Time{2});
  CHECK(b.goal == Goal::away);
  b.carries_out();
  a.carries_out();
  keeper.step(Time{3});
  CHECK(a.let == kUnlimited);
}

TEST_CASE("room that is too small for the first piece of a state does not stay with it") {
  MemorySettings settings = managed();
  settings.capacity = 600 * kKeptMiB;
  Keeper keeper(settings);
  KeptFake a, b;
  a.seen.movable = a.seen.away = a.seen.host = 512 * kKeptMiB;
  b.holds(300 * kKeptMiB);
  b.seen.host = 512 * kKeptMiB;
  keeper.comes(a);
  keeper.comes(b);
  keeper.permit(b, kUnlimited, Time{1});
  keeper.permit(a, kUnlimited, Time{1});
  keeper.step(Time{1});
  REQUIRE(a.budgeted == 300 * kKeptMiB);  // its piece needs 512
  keeper.permit(a, 0, Time{2});
  b.seen.want = 512 * kKeptMiB;
  b.seen.asked = 1;
  for (int step = 3; step < 6; ++step) {
    keeper.step(Time{step});
    if (a.goal == Goal::away) a.seen.done = a.number;  // nothing of it was there
  }
  CHECK(b.budgeted >= 512 * kKeptMiB);
  CHECK(a.budgeted + b.budgeted <= 600 * kKeptMiB);
}

TEST_CASE("the gate of a client that returns opens when it is done with what an earlier daemon ordered") {
  Keeper keeper(managed());
  KeptFake a, b;
  a.holds(60 * kKeptMiB);
  a.seen.done = b.seen.done = 7;
  a.seen.answers = true;  // b has no memory yet, or the driver moves it
  keeper.comes(a);
  keeper.comes(b);
  keeper.permit(a, kUnlimited, Time{1});
  keeper.permit(b, kUnlimited, Time{1});
  keeper.step(Time{1});
  CHECK(a.let == 0);
  CHECK(b.let == kUnlimited);
  a.carries_out();
  keeper.step(Time{2});
  CHECK(a.let == kUnlimited);
}

// The daemon may look between a claim and its end, if the client was given too little for it.
TEST_CASE("a claim that a client will not keep gets it no room that another still has") {
  MemorySettings settings = managed();
  settings.capacity = 400 * kKeptMiB;
  Keeper keeper(settings);
  KeptFake a, b;
  a.holds(300 * kKeptMiB);
  b.seen.movable = b.seen.away = 300 * kKeptMiB;
  a.seen.host = b.seen.host = 300 * kKeptMiB;
  keeper.comes(a);
  keeper.comes(b);
  SECTION("for its state") {
    keeper.permit(b, kUnlimited, Time{1});
    keeper.step(Time{1});
    REQUIRE(a.goal == Goal::away);
    REQUIRE(b.budgeted == 100 * kKeptMiB);
    b.seen.claimed = 300 * kKeptMiB;
    keeper.step(Time{2});
    CHECK(b.budgeted <= 100 * kKeptMiB);
    b.seen.claimed = 0;
    a.carries_out();
    keeper.step(Time{3});
    CHECK(b.budgeted == 300 * kKeptMiB);
  }
  SECTION("for more memory") {
    KeptFake c;
    keeper.comes(c);
    c.seen.host = c.seen.want = 300 * kKeptMiB;
    c.seen.asked = 1;
    c.seen.claimed = 300 * kKeptMiB;
    keeper.step(Time{1});
    CHECK(c.budgeted == 0);
  }
}

TEST_CASE("a client that moves is not the one that is called so next") {
  Two two;
  auto& [keeper, a, b] = two;
  a.seen.movable = a.seen.away = 40 * kKeptMiB;
  a.looks(200 * kKeptMiB, 200 * kKeptMiB);
  keeper.names(a, ClientId{0});
  keeper.step(Time{1});
  REQUIRE(keeper.residence(ClientId{0}, DeviceId{0}) == Residence::restoring);
  keeper.stays(a, true);
  b.holds(30 * kKeptMiB);
  keeper.names(b, ClientId{0});
  keeper.step(Time{2});
  CHECK(keeper.residence(ClientId{0}, DeviceId{0}) == Residence::resident);
  CHECK(keeper.held(ClientId{0}, DeviceId{0}) == Bytes{30 * kKeptMiB});
}

TEST_CASE("a process that returns while it is locked comes back, though nobody sees it wait") {
  Keeper keeper(whole(96 * kKeptMiB));
  KeptFake a, b;
  a.holds(68 * kKeptMiB);
  a.seen.host = 68 * kKeptMiB;
  b.seen.movable = b.seen.away = b.seen.host = 68 * kKeptMiB;
  keeper.comes(a);
  keeper.comes(b);
  keeper.step(Time{1});
  REQUIRE(a.goal == Goal::away);
  a.carries_out();
  keeper.step(Time{2});
  CHECK(b.budgeted == 68 * kKeptMiB);
}

TEST_CASE("a process whose turn is over before it has come back comes back all the same") {
  Keeper keeper(whole(96 * kKeptMiB));
  KeptFake a, b;
  for (KeptFake* each : {&a, &b}) {
    each->holds(68 * kKeptMiB);
    each->seen.host = 68 * kKeptMiB;
    keeper.comes(*each);
  }
  keeper.permit(a, kUnlimited, Time{1});
  keeper.step(Time{1});
  REQUIRE(b.goal == Goal::away);
  b.carries_out();
  keeper.step(Time{2});
  keeper.permit(b, kUnlimited, Time{3});
  keeper.step(Time{3});
  REQUIRE(b.goal == Goal::here);  // there is no room while a has its turn
  keeper.permit(b, 0, Time{4});
  keeper.permit(a, 0, Time{4});
  keeper.step(Time{4});
  CHECK(a.goal == Goal::here);  // nobody needs its room
  keeper.step(Time{2'000'000'000});
  REQUIRE(a.goal == Goal::away);
  a.carries_out();
  keeper.step(Time{2'000'000'001});
  CHECK(b.budgeted == 68 * kKeptMiB);
}

TEST_CASE("of processes that a helper has brought back beyond the capacity one leaves") {
  Keeper keeper(whole(140 * kKeptMiB));
  KeptFake a, b, c;
  for (KeptFake* each : {&a, &b, &c}) {
    each->holds(68 * kKeptMiB);
    each->seen.host = 68 * kKeptMiB;
    keeper.comes(*each);
  }
  keeper.permit(a, kUnlimited, Time{1});
  keeper.step(Time{1});
  CHECK(a.goal == Goal::here);
  CHECK((b.goal == Goal::away) != (c.goal == Goal::away));
}

TEST_CASE("a process that is brought back does not leave for its own sake") {
  Keeper keeper(whole(80 * kKeptMiB));
  KeptFake a, b;
  a.holds(60 * kKeptMiB);
  a.seen.host = 60 * kKeptMiB;
  b.seen.movable = b.seen.away = b.seen.host = 40 * kKeptMiB;
  keeper.comes(a);
  keeper.permit(a, kUnlimited, Time{1});
  keeper.comes(b);
  const std::uint32_t orders = b.number;
  for (int step = 1; step < 4000; ++step) keeper.step(Time{step * 1'000'000LL});
  CHECK(b.goal == Goal::here);
  CHECK(b.number == orders);
  CHECK(b.budgeted == 0);  // a part of what it needs would be of no use
  keeper.permit(a, 0, Time{4'000'000'000});
  keeper.step(Time{4'001'000'000});
  REQUIRE(a.goal == Goal::away);
  a.carries_out();
  keeper.step(Time{4'002'000'000});
  CHECK(b.budgeted == 40 * kKeptMiB);
}

TEST_CASE("who was brought back is not kept longer than others after its turn") {
  MemorySettings settings = managed();
  settings.capacity = 140 * kKeptMiB;
  Keeper keeper(settings);
  KeptFake a, b, c;
  for (KeptFake* each : {&a, &b, &c}) {
    each->holds(68 * kKeptMiB);
    each->seen.host = 68 * kKeptMiB;
    each->standing.waiting = true;
  }
  a.seen.away = 68 * kKeptMiB;
  a.seen.claimed = 0;
  for (KeptFake* each : {&a, &b, &c}) keeper.comes(*each);
  keeper.names(a, ClientId{0});
  keeper.names(b, ClientId{1});
  keeper.names(c, ClientId{2});
  keeper.restore(ClientId{0});
  keeper.step(Time{1});
  KeptFake& gone = b.goal == Goal::away ? b : c;
  KeptFake& stays = b.goal == Goal::away ? c : b;
  gone.carries_out();
  a.carries_out();
  keeper.permit(stays, kUnlimited, Time{2});
  keeper.permit(stays, 0, Time{3});
  keeper.permit(a, kUnlimited, Time{4});
  keeper.step(Time{4});
  REQUIRE(a.let == kUnlimited);
  keeper.permit(a, 0, Time{5});
  keeper.permit(gone, kUnlimited, Time{5});
  keeper.step(Time{5});
  CHECK(a.goal == Goal::away);  // it had the device last
  CHECK(stays.goal == Goal::here);
}

TEST_CASE("into room that nobody needs a state comes, unless the policy orders its moves") {
  const bool ordered = GENERATE(false, true);
  Two two;
  auto& [keeper, a, b] = two;
  keeper.names(a, ClientId{0});
  keeper.names(b, ClientId{1});
  keeper.moves_by_orders(ordered);
  a.looks(100 * kKeptMiB, 100 * kKeptMiB);
  a.seen.host = 64 * kKeptMiB;
  a.holds(40 * kKeptMiB);
  keeper.step(Time{1});
  keeper.save(ClientId{0});
  keeper.step(Time{2});
  REQUIRE(a.goal == Goal::away);
  a.carries_out();
  keeper.step(Time{3});
  CHECK(a.goal == Goal::away);
  a.standing.waiting = true;
  keeper.step(Time{4});
  CHECK((a.goal == Goal::here) == !ordered);
  keeper.restore(ClientId{0});
  CHECK(a.goal == Goal::here);
}

TEST_CASE("a policy's save needs pinned memory though all states fit") {
  MemorySettings settings = managed();
  settings.host = 64 * kKeptMiB;
  Keeper keeper(settings);
  KeptFake a, b;
  keeper.comes(a);
  keeper.comes(b);
  keeper.names(a, ClientId{0});
  keeper.names(b, ClientId{1});
  a.looks(200 * kKeptMiB, 200 * kKeptMiB);
  a.holds(40 * kKeptMiB);
  keeper.step(Time{1});
  CHECK(a.seen.host == 0);
  keeper.save(ClientId{1});  // which has nothing yet
  const auto empty = keeper.done();
  REQUIRE(empty);
  CHECK(empty->client == ClientId{1});
  keeper.save(ClientId{0});
  CHECK(keeper.residence(ClientId{0}, DeviceId{0}) == Residence::saving);
  keeper.step(Time{2});
  CHECK(a.seen.host == 64 * kKeptMiB);
  keeper.step(Time{2});
  CHECK(a.goal == Goal::away);
  CHECK(!keeper.done());
  a.carries_out();
  keeper.step(Time{3});
  const auto left = keeper.done();
  REQUIRE(left);
  CHECK(left->client == ClientId{0});
  CHECK(left->move == MemoryMove::save);
  SECTION("where there is none left the state stays, and the policy hears an end") {
    b.holds(40 * kKeptMiB);  // of 64 the other one has all
    keeper.step(Time{4});
    keeper.save(ClientId{1});
    keeper.step(Time{5});
    CHECK(b.goal == Goal::here);
    const auto stayed = keeper.done();
    REQUIRE(stayed);
    CHECK(stayed->client == ClientId{1});
    CHECK(keeper.residence(ClientId{1}, DeviceId{0}) == Residence::resident);
  }
}

// A client that allocates `count` pieces of `size`; it asks when its budget is too small. Returns how often.
int grows(Keeper& keeper, KeptFake& client, int count, std::uint64_t size, Time& now) {
  int asks = 0;
  for (int n = 0; n < count; ++n) {
    if (client.seen.claimed + size > client.budgeted) {
      client.seen.want = client.seen.claimed + size;
      ++client.seen.asked;
      ++asks;
      for (int step = 0; step < 3; ++step) keeper.step(now = now + Duration{1000});
    }
    REQUIRE(client.seen.claimed + size <= client.budgeted);
    client.seen.claimed += size;
    client.seen.movable += size;
  }
  return asks;
}

TEST_CASE("who grows seldom asks, and what it has ahead is nobody's loss") {
  MemorySettings settings = managed();
  settings.capacity = 150'000 * kKeptMiB;
  Keeper keeper{settings};
  KeptFake a, b;
  const bool in = GENERATE(true, false);
  for (KeptFake* each : {&a, &b}) {
    keeper.comes(*each);
    if (in) keeper.permit(*each, kUnlimited, Time{1});
  }
  Time now{1};
  keeper.step(now);
  CHECK(grows(keeper, a, 200, 256 * kKeptMiB, now) <= 25);
  keeper.step(now = now + Duration{1000});
  CHECK(a.budgeted > a.seen.claimed);
  CHECK(*keeper.unpromised() == 150'000 * kKeptMiB - a.seen.claimed);
  CHECK(a.seen.host == 0);
  // All that a does not use; nothing needs to leave for it.
  b.seen.want = 150'000 * kKeptMiB - a.seen.claimed;
  b.seen.asked = 1;
  for (int step = 0; step < 3; ++step) keeper.step(now = now + Duration{1000});
  CHECK(b.budgeted >= b.seen.want);
  CHECK(a.budgeted == a.seen.claimed);
  CHECK(a.goal == Goal::here);
  CHECK(a.seen.host == 0);
  CHECK(!b.refused);
}

TEST_CASE("what a client is about to take is not recalled for one that could come ahead of its turn") {
  MemorySettings settings = managed();
  settings.capacity = 100 * kKeptMiB;
  Keeper keeper{settings};
  KeptFake a, c;
  c.seen.host = 60 * kKeptMiB;
  for (KeptFake* each : {&a, &c}) keeper.comes(*each);
  keeper.permit(a, kUnlimited, Time{1});
  a.holds(30 * kKeptMiB);
  c.holds(60 * kKeptMiB);
  Time now{1};
  const auto asks = [&](std::uint64_t want) {
    a.seen.want = want;
    ++a.seen.asked;
    for (int step = 0; step < 10; ++step) {
      keeper.step(now = now + Duration{1000});
      if (c.goal == Goal::away && c.seen.away == 0) c.carries_out();
    }
    CHECK(a.budgeted >= want);  // it takes it only now
    a.holds(want);
    keeper.step(now = now + Duration{1000});
  };
  asks(60 * kKeptMiB);
  REQUIRE(c.seen.away == 60 * kKeptMiB);
  c.standing.waiting = true;
  asks(70 * kKeptMiB);
  asks(80 * kKeptMiB);
  CHECK(c.goal == Goal::away);
}

}  // namespace
}  // namespace gangway::live

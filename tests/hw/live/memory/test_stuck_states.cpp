// What becomes of others while a client's state does not move as it should.
#include <functional>

#include "tests/catch.hpp"
#include "tests/hw/live/memory/kept_fake.hpp"

namespace gangway::live {
namespace {

using testing::KeptFake;
using testing::kKeptMiB;
using testing::managed;

// Of 100 MiB a holds 64 and can leave; b is in, holds 20 and asks for 40 more.
struct Asking {
  Asking() {
    for (KeptFake* each : {&a, &b}) {
      each->seen.host = 64 * kKeptMiB;
      keeper.comes(*each);
    }
    a.holds(64 * kKeptMiB);
    b.holds(20 * kKeptMiB);
    b.looks(16 * kKeptMiB, 100 * kKeptMiB);
    keeper.permit(b, kUnlimited, Time{1});
    keeper.step(Time{1});
    b.seen.want = 60 * kKeptMiB;
    b.seen.asked = 1;
  }
  // Steps of 10 ms until b has been refused, or the end. When that was, in ms.
  std::int64_t refused_at(std::int64_t end) {
    for (; ms < end && !b.refused; ms += 10) {
      each_step();
      keeper.step(Time{ms * 1'000'000});
    }
    return ms;
  }
  Keeper keeper{managed()};
  KeptFake a, b;
  std::int64_t ms = 10;
  std::function<void()> each_step = [] {};
};

TEST_CASE("an ask waits for a state that leaves, as long as it does") {
  Asking asking;
  auto& [keeper, a, b, ms, each_step] = asking;
  SECTION("it copies for long") {
    each_step = [&, n = 0]() mutable {
      if (a.goal == Goal::away && ++n < 1000) ++a.seen.saved;
      if (n == 1000) a.carries_out();
    };
    CHECK(asking.refused_at(20'000) == 20'000);
    CHECK(b.budgeted >= 60 * kKeptMiB);
  }
  SECTION("it has stopped copying") {
    each_step = [&] {
      if (a.goal == Goal::away && ms < 5000) ++a.seen.saved;
    };
    const std::int64_t when = asking.refused_at(20'000);
    CHECK(a.goal == Goal::away);
    CHECK(when >= 7000);
    CHECK(when <= 7100);
  }
  SECTION("a signal has stopped it") {
    a.is_stopped = true;
    const std::int64_t when = asking.refused_at(20'000);
    CHECK(a.goal == Goal::here);
    CHECK(when >= 2000);
    CHECK(when <= 2100);
  }
}

TEST_CASE("what waited long for its turn waits for a state that begins to leave then") {
  Asking asking;
  auto& [keeper, a, b, ms, each_step] = asking;
  keeper.permit(a, kUnlimited, Time{2});
  keeper.permit(b, 0, Time{2});
  keeper.step(Time{3});  // not yet
  b.seen.asked = 2;
  keeper.step(Time{3'000'000'000});
  keeper.permit(a, 0, Time{3'000'000'001});
  keeper.permit(b, kUnlimited, Time{3'000'000'001});
  b.seen.asked = 3;
  for (int k = 2; k < 9; ++k) keeper.step(Time{3'000'000'000 + k});
  CHECK(a.goal == Goal::away);
  CHECK(!b.refused);
}

TEST_CASE("while one state does not go on leaving, another one can make room") {
  Asking asking;
  auto& [keeper, a, b, ms, each_step] = asking;
  KeptFake c;
  asking.refused_at(20);
  REQUIRE(a.goal == Goal::away);
  a.is_stopped = true;
  c.holds(40 * kKeptMiB);
  c.seen.host = 64 * kKeptMiB;
  keeper.comes(c);
  each_step = [&c = c] {
    if (c.goal == Goal::away) c.carries_out();
  };
  asking.refused_at(1000);
  CHECK(c.goal == Goal::away);
  CHECK(!b.refused);
}

TEST_CASE("a state whose moves fail again and again counts as one that stays, for a while") {
  Asking asking;
  auto& [keeper, a, b, ms, each_step] = asking;
  int failures = 0;
  each_step = [&] {
    b.looks(16 * kKeptMiB, 100 * kKeptMiB);
    if (a.goal != Goal::away || a.seen.done == a.number) {
      a.seen.done = a.number;
      return;
    }
    ++a.seen.saved;  // the first of its pieces
    ++a.seen.turned;
    a.seen.done = a.number;
    ++failures;
  };
  CHECK(asking.refused_at(20'000) <= 2000);
  CHECK(failures == 3);
  b.refused = false;
  b.seen.asked = 2;
  const std::int64_t before = ms;
  CHECK(asking.refused_at(before + 5000) <= before + 200);  // at once
  b.refused = false;
  ms += 12'000;
  each_step = [&] {
    if (a.goal == Goal::away && a.seen.done != a.number) a.carries_out();
    a.seen.done = a.number;
  };
  keeper.step(Time{ms * 1'000'000});
  b.seen.asked = 3;
  asking.refused_at(ms + 5000);
  CHECK(!b.refused);
  CHECK(b.budgeted >= 60 * kKeptMiB);
}

TEST_CASE("a state that has failed to come is not ordered again at once") {
  Keeper keeper(managed());
  KeptFake a;
  keeper.comes(a);
  a.looks(100 * kKeptMiB, 100 * kKeptMiB);
  a.holds(40 * kKeptMiB);
  a.seen.host = 64 * kKeptMiB;
  keeper.names(a, ClientId{0});
  keeper.step(Time{1});
  keeper.save(ClientId{0});
  keeper.step(Time{2});
  REQUIRE(a.goal == Goal::away);
  a.carries_out();
  keeper.step(Time{3});
  keeper.permit(a, kUnlimited, Time{4});
  const std::uint32_t before = a.number;
  for (std::int64_t ms = 1; ms <= 2000; ++ms) {
    keeper.step(Time{ms * 1'000'000});
    if (a.seen.done == a.number) continue;
    a.seen.done = a.number;
    ++a.seen.turned;
  }
  CHECK(a.goal == Goal::here);
  CHECK(a.number - before >= 4);
  CHECK(a.number - before <= 5);
}

// Of clients that an earlier daemon had, which moved memory otherwise.
TEST_CASE("a state that nothing can move any more comes home first and stays") {
  using Leaves = KeptClient::Memory::Leaves;
  MemorySettings settings = managed();
  settings.capacity = 100 * kKeptMiB;
  settings.whole = GENERATE(false, true);
  settings.managed = GENERATE(true, false);
  Keeper keeper(settings);
  KeptFake a, b;
  a.seen.leaves = Leaves::never;
  a.seen.movable = a.seen.away = 64 * kKeptMiB;
  b.holds(64 * kKeptMiB);
  for (KeptFake* each : {&a, &b}) {
    each->seen.host = 64 * kKeptMiB;
    keeper.comes(*each);
  }
  CHECK(a.goal == Goal::here);
  for (int ms = 1; ms < 10; ++ms) {
    keeper.step(Time{ms});
    if (b.goal == Goal::away && b.seen.away == 0) b.carries_out();
  }
  CHECK((b.goal == Goal::away) == settings.managed);
  REQUIRE(a.budgeted >= 64 * kKeptMiB);
  a.carries_out();
  keeper.permit(b, kUnlimited, Time{10});
  for (int ms = 10; ms < 100; ++ms) keeper.step(Time{ms * 100'000'000LL});
  CHECK(a.goal == Goal::here);
  CHECK(a.number == 1);  // it was ordered once
  CHECK(!keeper.facts(a).movable);
}

TEST_CASE("beside whole processes a state in pieces leaves and comes as it did") {
  MemorySettings settings = managed();
  settings.capacity = 100 * kKeptMiB;
  settings.whole = true;
  settings.host = 200 * kKeptMiB;
  Keeper keeper(settings);
  KeptFake a, b;
  a.seen.leaves = KeptClient::Memory::Leaves::in_pieces;
  a.holds(64 * kKeptMiB);
  b.holds(64 * kKeptMiB);
  b.seen.host = 64 * kKeptMiB;
  b.seen.claimed = 0;
  b.seen.away = 64 * kKeptMiB;
  for (KeptFake* each : {&a, &b}) keeper.comes(*each);
  for (int turn = 0; turn < 6; ++turn) {
    KeptFake &goes = turn % 2 == 0 ? a : b, &comes = turn % 2 == 0 ? b : a;
    const Time now{(turn + 1) * 1'000'000LL};
    keeper.permit(goes, 0, now);
    keeper.permit(comes, kUnlimited, now);
    for (int k = 0; k < 4; ++k) {
      keeper.step(now);
      if (goes.goal == Goal::away && goes.seen.away == 0) goes.carries_out();
      if (comes.budgeted >= 64 * kKeptMiB) comes.carries_out();
    }
    CHECK(comes.let == kUnlimited);
    CHECK(goes.seen.away == 64 * kKeptMiB);
  }
  CHECK(a.told_host == 64 * kKeptMiB);
}

}  // namespace
}  // namespace gangway::live

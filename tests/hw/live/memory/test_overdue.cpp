// Processes that are away as a whole, and may wait in the driver where nobody sees it.
#include <algorithm>
#include <functional>
#include <utility>

#include "tests/catch.hpp"
#include "tests/hw/live/memory/kept_fake.hpp"

namespace gangway::live {
namespace {

using testing::KeptFake;
using testing::kKeptMiB;
using testing::managed;

struct Comer : KeptFake {
  std::int64_t came = INT64_MIN / 2;  // ms
};

// Processes of 64 MiB on a device that has room for `fit` of them. They carry out what they are told.
struct Processes {
  Processes(std::uint64_t fit, std::size_t count) : clients(count) {
    MemorySettings settings = managed();
    settings.capacity = (fit * 64 + 30) * kKeptMiB;
    settings.whole = true;
    keeper.emplace(settings);
    for (KeptFake& client : clients) {
      client.holds(64 * kKeptMiB);
      client.seen.host = 64 * kKeptMiB;
      keeper->comes(client);
    }
  }
  void until(std::int64_t end) {
    for (; ms < end; ms += 10) {
      each_step();
      keeper->step(Time{ms * 1'000'000});
      for (Comer& client : clients) {
        const bool comes = client.goal == Goal::here && client.budgeted >= client.seen.movable;
        if (client.goal == Goal::away && client.seen.away == 0) {
          ++saves;
          least_stay = std::min(least_stay, ms - std::exchange(client.came, INT64_MIN / 2));
        }
        if (client.goal == Goal::here && client.seen.away != 0) client.came = ms;
        if (client.goal == Goal::away ? client.seen.away == 0 : comes && client.seen.away != 0)
          client.carries_out();
        const bool is_there =
            client.goal == Goal::away ? client.seen.away != 0 : comes && client.seen.away == 0;
        if (is_there) client.seen.done = client.number;
      }
    }
  }
  std::optional<Keeper> keeper;
  std::vector<Comer> clients;
  std::function<void()> each_step = [] {};
  std::int64_t ms = 10;
  std::int64_t least_stay = INT64_MAX;  // of one that had come back, ms
  int saves = 0;
};

TEST_CASE("an idle process with an open gate makes room for one that may wait in the driver", "[memory]") {
  Processes two(1, 2);
  KeptFake &idle = two.clients[0], &away = two.clients[1];
  two.keeper->permit(idle, kUnlimited, Time{1});
  two.until(500);
  REQUIRE(away.seen.away != 0);
  REQUIRE(idle.let == kUnlimited);
  SECTION("it is brought back when it waits at its gate") {
    two.until(2000);
    CHECK(away.seen.away == 0);
    CHECK(idle.let == 0);
    CHECK(idle.seen.away != 0);
    idle.standing.waiting = true;
    two.until(2200);
    CHECK(idle.let == kUnlimited);
    CHECK(idle.seen.away == 0);
    CHECK(away.seen.away != 0);
  }
  SECTION("not while it works") {
    two.each_step = [&] { idle.standing.outstanding = 1; };
    two.until(5000);
    CHECK(idle.let == kUnlimited);
  }
  SECTION("not while it submits now and then") {
    two.each_step = [&] { idle.standing.submissions += two.ms % 50 == 0 ? 1 : 0; };
    two.until(5000);
    CHECK(idle.let == kUnlimited);
    CHECK(two.saves == 1);
  }
  SECTION("not if it begins when its gate is closed") {
    idle.submits_when_closed = true;
    two.until(5000);
    CHECK(idle.let == kUnlimited);
    CHECK(two.saves == 1);
  }
}

TEST_CASE("a process comes back to hear an answer, but for its turn it waits at its gate", "[memory]") {
  Processes two(1, 2);
  KeptFake& away = two.clients[1];
  two.keeper->permit(two.clients[0], kUnlimited, Time{1});
  two.until(500);
  REQUIRE(away.seen.away != 0);
  away.standing.waiting = true;  // in its ask for memory, where it looks at the device
  const bool at_gate = GENERATE(false, true);
  away.standing.job = at_gate ? 1 : 2;
  two.until(2000);
  CHECK((away.seen.away != 0) == at_gate);
}

TEST_CASE("idle processes change places more and more rarely", "[memory]") {
  Processes three(2, 3);
  three.until(20'000);
  CHECK(three.saves <= 9);
  three.until(200'000);
  CHECK(three.saves <= 20);
  CHECK(three.saves >= 7);  // each may wait, unseen
}

TEST_CASE("of several that may wait each has a second", "[memory]") {
  Processes four(2, 4);
  KeptFake& works = four.clients[0];
  four.keeper->permit(works, kUnlimited, Time{1});
  works.standing.outstanding = 1;
  four.until(60'000);
  CHECK(works.let == kUnlimited);
  CHECK(four.saves >= 8);
  CHECK(four.least_stay >= 1000);
}

TEST_CASE("two that take turns do not keep a third away for good", "[memory]") {
  Processes three(1, 3);
  KeptFake& third = three.clients[2];
  std::int64_t here = 0;  // ms
  const bool shows_work = GENERATE(false, true);
  three.each_step = [&] {
    const std::size_t turn = static_cast<std::size_t>(three.ms / 200 % 2);
    if (three.ms % 200 == 0) {
      three.keeper->permit(three.clients[1 - turn], 0, Time{three.ms * 1'000'000});
      three.keeper->permit(three.clients[turn], kUnlimited, Time{three.ms * 1'000'000});
    }
    here += third.seen.away == 0 ? 10 : 0;
    third.standing.waiting = shows_work && third.seen.away == 0;
  };
  for (const std::size_t client : {0, 1}) three.clients[client].standing.waiting = true;
  three.until(1000);
  here = 0;
  REQUIRE(third.seen.away != 0);
  three.until(4000);
  CHECK(here > 0);
  CHECK(here <= 400);
  if (!shows_work) CHECK(here >= 100);
}

TEST_CASE("nobody leaves for one that could not come all the same", "[memory]") {
  Processes two(2, 2);
  KeptFake large, &stopped = two.clients[0], &works = two.clients[1];
  large.seen.movable = large.seen.away = 100 * kKeptMiB;
  two.keeper->comes(large);
  stopped.is_stopped = true;
  works.standing.waiting = true;
  std::int64_t here = 0;  // ms
  two.each_step = [&] {
    if (two.ms % 200 == 0)
      two.keeper->permit(works, two.ms % 400 == 0 ? kUnlimited : 0, Time{two.ms * 1'000'000});
    here += works.seen.away == 0 ? 10 : 0;
  };
  two.until(10'000);
  CHECK(large.seen.away != 0);
  CHECK(here >= 9000);
}

TEST_CASE("nobody polls for a process that a signal has stopped", "[memory]") {
  Keeper keeper(managed());
  KeptFake a;
  a.holds(60 * kKeptMiB);
  a.seen.answers = true;
  keeper.comes(a);
  a.is_stopped = GENERATE(false, true);
  keeper.permit(a, kUnlimited, Time{1});
  const Time now{200'000'000};
  CHECK((keeper.step(now) > now) == a.is_stopped);
}

TEST_CASE("a process that comes back and does something is brought back soon the next time", "[memory]") {
  Processes two(1, 2);
  two.each_step = [&] {
    for (KeptFake& client : two.clients)
      if (client.seen.away == 0) ++client.seen.asked, client.seen.want = 0;
  };
  two.until(20'000);
  CHECK(two.saves >= 15);
}

}  // namespace
}  // namespace gangway::live

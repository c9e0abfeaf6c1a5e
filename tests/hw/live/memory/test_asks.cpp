// Asks for more memory: when a client hears no.
#include "tests/catch.hpp"
#include "tests/hw/live/memory/kept_fake.hpp"

namespace gangway::live {
namespace {

using testing::KeptFake;
using testing::kKeptMiB;
using testing::managed;

Time ms(std::int64_t count) { return Time{count * 1'000'000}; }

TEST_CASE("who asks for more than there seems to be has looked at the device again before it hears no") {
  Keeper keeper(managed());
  KeptFake a;
  keeper.comes(a);
  a.looks(20 * kKeptMiB, 100 * kKeptMiB);  // a client that was killed has not left it yet
  keeper.permit(a, kUnlimited, ms(1));
  keeper.step(ms(1));
  a.seen.want = 60 * kKeptMiB;
  a.seen.asked = 1;
  for (int now = 2; now < 1000; ++now) keeper.step(ms(now));  // its thread has no core
  CHECK(!a.refused);
  SECTION("there is room by then") {
    a.looks(100 * kKeptMiB, 100 * kKeptMiB);
    keeper.step(ms(1000));
    CHECK(a.budgeted >= 60 * kKeptMiB);
    CHECK(!a.refused);
  }
  SECTION("there is none") {
    for (int now = 1000; now < 1003; ++now) {
      a.looks(20 * kKeptMiB, 100 * kKeptMiB);
      keeper.step(ms(now));
    }
    CHECK(a.refused);
  }
  SECTION("it never looks") {
    for (int now = 1000; now < 2010; ++now) keeper.step(ms(now));
    CHECK(a.refused);
  }
}

// Of 100 MiB a holds 64 and does not leave, since it works; b holds 20 and asks for 40 more.
struct Held {
  Held() {
    for (KeptFake* each : {&a, &b}) {
      each->seen.host = 64 * kKeptMiB;
      keeper.comes(*each);
    }
    a.holds(64 * kKeptMiB);
    a.standing.outstanding = 1;
    b.holds(20 * kKeptMiB);
    b.looks(16 * kKeptMiB, 100 * kKeptMiB);
  }
  // Steps of 1 ms until b is refused, from `from` on.
  std::int64_t refused_at(std::int64_t from) {
    b.refused = false;
    std::int64_t now = from;
    for (; now < from + 10'000 && !b.refused; ++now) keeper.step(ms(now));
    return now;
  }
  Keeper keeper{managed()};
  KeptFake a, b;
};

TEST_CASE("an ask that comes before the next look waits as long as its predecessor") {
  Held held;
  held.keeper.permit(held.b, kUnlimited, ms(1));
  held.keeper.step(ms(1));
  held.b.seen.want = 60 * kKeptMiB;
  held.b.seen.asked = 1;
  const std::int64_t first = held.refused_at(2);
  REQUIRE(held.b.refused);
  CHECK(first >= 2000);
  held.b.seen.asked = 2;
  CHECK(held.refused_at(first) >= first + 2000);
}

TEST_CASE("an ask that was put off has some time when its client is let in, once") {
  Held held;
  auto& [keeper, a, b] = held;
  keeper.permit(b, kUnlimited, ms(1));
  keeper.step(ms(1));
  b.seen.want = 60 * kKeptMiB;
  b.seen.asked = 1;
  keeper.permit(a, kUnlimited, ms(2));
  keeper.permit(b, 0, ms(2));
  for (int now = 3; now < 3000; ++now) keeper.step(ms(now));  // a's turn
  keeper.permit(a, 0, ms(3000));
  keeper.permit(b, kUnlimited, ms(3000));
  b.seen.asked = 2;
  SECTION("a has not drained yet") {
    const std::int64_t refused = held.refused_at(3001);
    CHECK(refused >= 3200);
    CHECK(refused <= 3210);
  }
  SECTION("its turns are short") {
    for (int now = 3001; now < 4000 && !b.refused; ++now) {
      keeper.permit(b, now % 20 < 10 ? 0 : kUnlimited, ms(now));
      if (now % 10 == 0) ++b.seen.asked;  // put off, and again when it is in
      keeper.step(ms(now));
    }
    CHECK(b.refused);
  }
}

TEST_CASE("a look does not count while another client gets or frees memory") {
  Keeper keeper(managed());
  KeptFake a, b;
  for (KeptFake* each : {&a, &b}) keeper.comes(*each);
  a.looks(60 * kKeptMiB, 100 * kKeptMiB);
  keeper.step(ms(1));
  keeper.step(ms(2));
  REQUIRE(keeper.outside() == 40 * kKeptMiB);
  b.seen.claimed = 30 * kKeptMiB;  // its thread is between the claim and the driver's call
  b.seen.changing = true;
  keeper.step(ms(3));
  keeper.step(ms(4));
  a.looks(60 * kKeptMiB, 100 * kKeptMiB);
  SECTION("still") {
    keeper.step(ms(5));
    CHECK(keeper.outside() == 40 * kKeptMiB);
  }
  SECTION("until then") {
    b.seen.changing = false;
    keeper.step(ms(5));
    CHECK(keeper.outside() == 40 * kKeptMiB);
    a.looks(20 * kKeptMiB, 100 * kKeptMiB);
    keeper.step(ms(6));
    CHECK(keeper.outside() == 50 * kKeptMiB);
  }
}

}  // namespace
}  // namespace gangway::live

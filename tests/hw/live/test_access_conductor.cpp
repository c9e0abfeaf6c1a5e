// Policies that open and close the gates of whole clients: schedules worked out by hand.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/hw/live/conductor_stage.hpp"

namespace gangway::live {
namespace {

using namespace literals;
using testing::FakeClient;
using testing::ms;
using testing::Stage;

TEST_CASE("Disengaged time slices open one gate after another", "[live]") {
  Stage stage("disengaged-timeslice", {}, "{slice: 10 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
  stage.play(ms(9));
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
  a.standing.outstanding = 3;  // 4 ms of work are left when its slice ends
  stage.at(ms(10));
  CHECK((a.permitted == 0 && b.permitted == 0));
  CHECK(a.asked == 1);
  stage.at(ms(13));
  CHECK((a.permitted == 0 && b.permitted == 0));
  a.standing.outstanding = 0;
  stage.at(ms(14));
  CHECK((a.permitted == 0 && b.permitted == kUnlimited));
  stage.at(ms(24));
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
}

TEST_CASE("Threads at a closed gate are roused when another client's gate closes", "[live]") {
  Stage stage("disengaged-timeslice", {}, "{slice: 10 ms}");
  FakeClient &a = stage.open(), &b = stage.open(), &c = stage.open();
  b.standing.waiting = true;
  stage.at(ms(9));
  CHECK((a.permitted == kUnlimited && b.roused == 0));
  a.standing.outstanding = 1;
  a.standing.waiting = true;
  stage.at(ms(10));
  CHECK(a.permitted == 0);
  CHECK(b.roused == 1);
  CHECK((a.roused == 0 && c.roused == 0));  // it is the one that closes; none of its threads waits
  a.standing.outstanding = 0;
  stage.at(ms(12));
  CHECK((b.permitted == kUnlimited && b.roused == 1));
}

TEST_CASE("A client that overran its slices by more than one is passed over", "[live]") {
  Stage stage("disengaged-timeslice", {}, "{slice: 10 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.standing.outstanding = 1;
  stage.at(ms(10));
  stage.at(ms(20));
  a.standing.outstanding = 0;
  stage.at(ms(21));  // 11 ms over
  CHECK(b.permitted == kUnlimited);
  stage.at(ms(31));
  CHECK((a.permitted == 0 && b.permitted == kUnlimited));  // it is b's turn again
  stage.at(ms(41));
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
}

TEST_CASE("Every submission of an intercepted client is admitted by the policy", "[live]") {
  Stage stage("trap-per-request");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  CHECK((a.permitted == kIntercepted && b.permitted == kIntercepted));
  a.standing.asked = 3;
  stage.at(ms(1));
  CHECK((a.admitted == 3 && b.admitted == 0));
  b.standing.asked = 1;
  stage.at(ms(2));
  CHECK((a.admitted == 3 && b.admitted == 1));
}

TEST_CASE("Engaged time slices admit the holder's submissions until its slice ends", "[live]") {
  Stage stage("timeslice", {}, "{slice: 10 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  CHECK((a.permitted == kIntercepted && b.permitted == 0));
  a.standing.asked = 2;
  stage.at(ms(3));
  CHECK(a.admitted == 2);
  // One that asks in the instant in which the slice ends is not admitted; its number is void.
  a.standing.asked = 3;
  a.standing.outstanding = 1;
  stage.at(ms(10));
  CHECK((a.permitted == 0 && a.admitted == 2 && b.permitted == 0));
  a.standing.outstanding = 0;
  stage.at(ms(12));
  CHECK((a.permitted == 0 && b.permitted == kIntercepted));
  stage.at(ms(22));
  CHECK((a.permitted == kIntercepted && a.admitted == 2 && b.permitted == 0));
  a.standing.asked = 4;  // it asked again
  stage.at(ms(23));
  CHECK(a.admitted == 4);
}

TEST_CASE("A client whose jobs are never interrupted is not intercepted behind its slice", "[live]") {
  GateSettings settings;
  settings.drain_limit = 20_ms;
  Stage stage("timeslice", settings, "{slice: 10 ms, limit: 100 ms}");
  FakeClient& a = stage.open();
  stage.open();
  a.begin_job();
  for (int turn = 0; turn < 2; ++turn) {  // twice it does not drain in time
    while (a.permitted != kIntercepted && stage.now < ms(1000)) stage.play(stage.now + 1_ms);
    a.standing.outstanding = 1;
    while (a.permitted != kReturned && stage.now < ms(1000)) stage.play(stage.now + 1_ms);
    a.end_job();
    while (a.permitted != 0 && stage.now < ms(1000)) stage.play(stage.now + 1_ms);
    a.begin_job();
  }
  REQUIRE(stage.steps.count(Step::whole) == 1);
  while (a.permitted != kIntercepted && stage.now < ms(1000)) stage.play(stage.now + 1_ms);
  REQUIRE(stage.now < ms(1000));
  a.standing.outstanding = 1;
  for (int submission = 0; submission < 5; ++submission) {
    stage.play(stage.now + 99_ms);
    ++a.standing.over;
  }
  CHECK(a.permitted == kReturned);  // so that its job can end
  CHECK(!a.killed);
  a.end_job();
  stage.play(stage.now + 5_ms);
  CHECK(a.permitted == 0);
}

// Free runs of 10 ms for each client that was sampled, windows of 2 ms.
TEST_CASE("Disengaged fair queueing samples those that used the device, and holds back who is ahead",
          "[live]") {
  Stage stage("disengaged-fair-queueing", {}, "{sampling: 2 ms, free_run: 5, requests: 100}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  CHECK((a.permitted == kUnlimited && b.permitted == kUnlimited));
  a.standing.submissions = b.standing.submissions = 50;
  stage.at(ms(10));  // nothing is outstanding: a is sampled at once, one submission at a time
  CHECK((a.permitted == 1 && b.permitted == 0));
  a.standing.outstanding = 1;
  stage.play(Time{11'900'000});  // it is on the device for nine tenths of the window, with two requests
  a.standing.submissions = 52;
  a.standing.outstanding = 0;
  stage.at(ms(12));
  CHECK((a.permitted == 0 && b.permitted == 1));
  // b's requests are short: 18 of them in as much time.
  b.standing.outstanding = 1;
  stage.play(Time{13'900'000});
  b.standing.submissions = 68;
  b.standing.outstanding = 0;
  stage.at(ms(14));
  // Of the free run a had nine tenths, and is more than a free run of 20 ms ahead only much later.
  CHECK((a.permitted == kUnlimited && b.permitted == kUnlimited));
  CHECK(stage.steps.count(Step::permitted) == 6);
}

TEST_CASE("Sampling of a client ends with as many requests as it was to see", "[live]") {
  Stage stage("disengaged-fair-queueing", {}, "{sampling: 5 ms, requests: 4}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.standing.submissions = 10;
  stage.at(ms(25));
  CHECK((a.permitted == 1 && b.permitted == 0));
  a.standing.submissions = 13;
  stage.at(ms(26));
  CHECK(a.permitted == 1);
  a.standing.submissions = 14;
  a.standing.outstanding = 1;
  stage.at(ms(27));
  CHECK((a.permitted == 0 && b.permitted == 0));  // until that one is over
  a.standing.outstanding = 0;
  stage.at(ms(28));
  CHECK((a.permitted == kUnlimited && b.permitted == kUnlimited));  // b had used nothing
}

TEST_CASE("The device's time is divided among those that have work on it", "[live]") {
  Stage stage("disengaged-fair-queueing", {}, "{statistics: vendor, sampling: 2 ms, free_run: 5}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.standing.outstanding = b.standing.outstanding = 1;
  a.standing.submissions = b.standing.submissions = 1;
  stage.play(ms(10));
  b.standing.outstanding = 0;
  stage.play(Time{19'900'000});
  a.standing.outstanding = 0;
  stage.at(ms(20));  // a used 15 ms, b 5 ms: neither is 20 ms ahead
  CHECK((a.permitted == kUnlimited && b.permitted == kUnlimited));
  for (int run = 0; run < 3; ++run) {
    a.standing.outstanding = 1;
    ++a.standing.submissions;
    ++b.standing.submissions;
    b.standing.waiting = true;
    stage.play(stage.now + 19_ms);
    a.standing.outstanding = 0;
    b.standing.outstanding = 1;
    stage.play(stage.now + 900_us);
    b.standing.outstanding = 0;
    stage.at(stage.now + 100_us);
  }
  CHECK((a.permitted == 0 && b.permitted == kUnlimited));
}

TEST_CASE("A policy hears of each wait of a client that it denies access", "[live]") {
  struct Denying : Policy {
    explicit Denying(std::vector<std::string>& heard) : told(heard) {}
    Capabilities needs() const override { return {Capability::access}; }
    void note(Time now, const Fact& fact, const View&) override {
      denies = denies || std::holds_alternative<Opens>(fact);
      opened = opened || denies;
      CHECK(opened);
      if (const auto* activity = std::get_if<Activity>(&fact))
        told.push_back(fmt::format("{}{}{}", now.ns / 1'000'000, activity->used ? " used" : "",
                                   activity->pending ? " pending" : ""));
    }
    void decide(Time now, const View&, Orders& orders) override {
      if (std::exchange(denies, false)) {
        orders.access(ClientId{0}, Access::deny);
        orders.drain(ClientId{0});
        orders.wake_at(ms(6));
      } else if (now == ms(6)) {
        orders.access(ClientId{0}, Access::direct);
      }
    }
    bool denies = false, opened = false;
    std::vector<std::string>& told;
  };
  std::vector<std::string> told;
  Stage stage(std::make_unique<Denying>(told));
  FakeClient& a = stage.open();
  a.standing.waiting = true;  // a thread that another daemon held
  stage.at(ms(0));
  a.standing.waiting = false;
  stage.at(ms(1));
  a.standing.waiting = true;
  stage.at(ms(2));
  stage.at(ms(3));
  a.standing.waiting = false;  // who waited was interrupted
  stage.at(ms(4));
  a.standing.waiting = true;
  stage.at(ms(5));
  stage.at(ms(6));
  CHECK(a.permitted == kUnlimited);
  stage.at(ms(7));
  CHECK(told == std::vector<std::string>{"0 pending", "2 pending", "5 pending"});
}

TEST_CASE("A submission in progress is waited for before the next gate opens", "[live]") {
  Stage stage("disengaged-timeslice", {}, "{slice: 10 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.standing.inside = true;
  stage.at(ms(10));
  CHECK((a.permitted == 0 && b.permitted == 0));
  a.standing.inside = false;
  stage.at(ms(11));
  CHECK(b.permitted == kUnlimited);
}

TEST_CASE("A client that does not drain gets its permit back, and then keeps it to its job's end", "[live]") {
  GateSettings settings;
  settings.drain_limit = 5_ms;
  Stage stage("disengaged-timeslice", settings, "{slice: 10 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.begin_job();
  a.standing.outstanding = 1;  // waits for its client's next submission
  stage.at(ms(10));
  CHECK(a.permitted == 0);
  stage.at(ms(16));
  CHECK((a.permitted == kReturned && b.permitted == 0));
  CHECK(stage.steps.count(Step::returned) == 1);
  stage.at(ms(22));
  CHECK(a.permitted == 0);  // once more
  stage.at(ms(28));
  CHECK(a.permitted == kReturned);
  CHECK(stage.steps.count(Step::whole) == 1);
  a.end_job();
  stage.at(ms(29));
  CHECK((a.permitted == 0 && b.permitted == kUnlimited));
  // The 19 ms of overrun are charged: one slice is passed over.
  stage.at(ms(39));
  CHECK((a.permitted == 0 && b.permitted == kUnlimited));
  stage.at(ms(49));
  CHECK(a.permitted == kUnlimited);
  a.begin_job();
  a.standing.outstanding = 1;
  stage.at(ms(59));
  CHECK((a.permitted == kReturned && b.permitted == 0));  // not inside a job
  a.end_job();
  stage.at(ms(60));
  CHECK(b.permitted == kUnlimited);
}

TEST_CASE("Only a client whose permit is open is killed as overdue", "[live]") {
  GateSettings settings;
  settings.drain_limit = 5_ms;
  Stage stage("disengaged-timeslice", settings, "{slice: 10 ms, limit: 3 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.standing.outstanding = 1;
  stage.at(ms(10));
  stage.at(ms(14));
  CHECK_FALSE(a.killed);  // more than the limit, but what it waits for may be held by us
  stage.at(ms(16));
  CHECK(a.permitted == kReturned);
  stage.at(ms(17));
  CHECK(a.killed);
  stage.conductor->exited(stage.now, a.id);
  stage.at(ms(18));
  CHECK(b.permitted == kUnlimited);
}

// A kernel that never ends, of a client whose jobs are not interrupted any more: drained at 10, returned at
// 16, closed at 22, returned and whole at 28 ms, with a limit of 30 ms from the order on.
TEST_CASE("A client that is never interrupted is killed for a request that does not end", "[live]") {
  GateSettings settings;
  settings.drain_limit = 5_ms;
  Stage stage("disengaged-timeslice", settings, "{slice: 10 ms, limit: 30 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.begin_job();
  a.standing.outstanding = a.standing.deepest = 1;
  stage.play(ms(40));
  CHECK(stage.steps.count(Step::whole) == 1);
  CHECK_FALSE(a.killed);
  stage.play(ms(41));
  CHECK(a.killed);
  stage.conductor->exited(stage.now, a.id);
  stage.at(ms(42));
  CHECK(b.permitted == kUnlimited);
}

TEST_CASE("A client that is waited for is not killed while its submissions end", "[live]") {
  GateSettings settings;
  settings.drain_limit = 5_ms;
  Stage stage("disengaged-timeslice", settings, "{slice: 10 ms, limit: 30 ms}");
  FakeClient& a = stage.open();
  stage.open();
  stage.at(ms(0));
  a.begin_job();
  a.standing.outstanding = a.standing.deepest = 3;
  stage.play(ms(99));  // three times the limit, from 10 ms on
  a.standing.over = 1;
  stage.play(ms(150));
  CHECK_FALSE(a.killed);
  a.standing.outstanding = a.standing.deepest = a.standing.over = 2;
  for (int n = 3; n < 30; ++n) {
    stage.play(stage.now + 29_ms);
    a.standing.over = static_cast<std::uint64_t>(n);
  }
  CHECK_FALSE(a.killed);
  // What its page says of the ends of submissions does not help it for ever: 100 limits after the order.
  for (int n = 30; n < 200 && !a.killed; ++n) {
    stage.play(stage.now + 29_ms);
    a.standing.over = static_cast<std::uint64_t>(n);
  }
  CHECK(a.killed);
  CHECK((stage.now > ms(3010) && stage.now < ms(3050)));
}

TEST_CASE("A request that does not end is not hidden behind many", "[live]") {
  GateSettings settings;
  settings.drain_limit = 5_ms;
  Stage stage("disengaged-timeslice", settings, "{slice: 10 ms, limit: 30 ms}");
  FakeClient& a = stage.open();
  stage.open();
  stage.at(ms(0));
  a.begin_job();
  a.standing.outstanding = a.standing.deepest = 1000;
  stage.play(ms(309));
  CHECK_FALSE(a.killed);
  stage.play(ms(311));
  CHECK(a.killed);
}

}  // namespace
}  // namespace gangway::live

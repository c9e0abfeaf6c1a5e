// Work whose end nobody has seen, since the daemon or the client's helper has not looked.
#include "tests/catch.hpp"
#include "tests/hw/live/conductor_stage.hpp"

namespace gangway::live {
namespace {

using namespace literals;
using testing::FakeClient;
using testing::ms;
using testing::Stage;

GateSettings drained_in_5_ms() {
  GateSettings settings;
  settings.drain_limit = 5_ms;
  return settings;
}

TEST_CASE("Time in which the daemon itself stands still counts against no client", "[live]") {
  Stage stage("disengaged-timeslice", {}, "{slice: 10 ms, limit: 1 s}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.standing.outstanding = a.standing.deepest = 1;
  stage.at(ms(10));
  REQUIRE(a.permitted == 0);
  SECTION("its work ends as soon as the daemon is back") {
    stage.at(ms(5000));
    CHECK((a.permitted == 0 && !a.killed));
    a.standing.outstanding = 0;
    stage.at(ms(5001));
    CHECK(b.permitted == kUnlimited);
    CHECK(stage.steps.count(Step::returned) == 0);
    const auto& drained = stage.steps.all[stage.steps.all.size() - 2];
    CHECK((drained.step == Step::drained && drained.value == ms(4991).ns));  // the log has all of it
    stage.play(ms(5022));  // of what it overran, 11 ms are charged: one slice
    CHECK(a.permitted == kUnlimited);
  }
  SECTION("its work does not end: the limits count from there on") {
    for (int stall = 0; stall < 2; ++stall) {  // also while its permit is back
      stage.at(stage.now + 5000_ms);
      CHECK_FALSE(a.killed);
      stage.play(stage.now + 89_ms);
      CHECK(a.permitted == (stall == 0 ? 0 : kReturned));
      stage.play(stage.now + 2_ms);
      CHECK(a.permitted == (stall == 0 ? kReturned : 0));
    }
    stage.play(stage.now + 700_ms);
    CHECK_FALSE(a.killed);
    stage.play(stage.now + 300_ms);
    CHECK(a.killed);
  }
}

TEST_CASE("The time before a gate closes is none in which the daemon stood still", "[live]") {
  Stage stage("disengaged-timeslice", drained_in_5_ms(), "{slice: 10 ms}");
  FakeClient& a = stage.open();
  stage.at(ms(0));
  a.begin_job();
  a.standing.outstanding = 1;
  stage.now = ms(1000);  // nothing happened until then
  stage.open();
  stage.at(ms(1001));
  stage.play(ms(1030));
  CHECK(stage.steps.count(Step::returned) != 0);
}

// The daemon looks, but the client's helper has no core, so that its page is old.
TEST_CASE("A client does not overstay before its helper has answered", "[live]") {
  Stage stage("disengaged-timeslice", drained_in_5_ms(), "{slice: 10 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.begin_job();
  a.standing.outstanding = 1;
  stage.at(ms(10));
  CHECK((a.permitted == 0 && a.asked == 1));
  a.standing.unanswered = 6_ms;
  stage.at(ms(16));
  CHECK((a.permitted == 0 && a.asked == 2));
  SECTION("its work was over") {
    a.standing.outstanding = 0;
    stage.at(ms(18));
    CHECK(b.permitted == kUnlimited);
    CHECK(stage.steps.count(Step::returned) == 0);
  }
  SECTION("it answers that its work goes on") {
    a.standing.unanswered = 500_us;  // from before the order's limit was over
    stage.at(Time{15'400'000});
    CHECK(a.permitted == 0);
    stage.at(ms(16));
    CHECK(a.permitted == kReturned);
  }
  SECTION("it never answers: it is waited for twice as long, and may be interrupted again") {
    const auto silent_until = [&](Time until) {
      for (; stage.now < until; stage.at(stage.now + 100_us)) a.standing.unanswered = stage.now - ms(10);
    };
    silent_until(ms(20));
    CHECK(a.permitted == 0);
    silent_until(ms(21));
    CHECK(a.permitted == kReturned);
    int asked = 0;
    while (a.permitted == kReturned) {
      asked = a.asked;
      silent_until(stage.now + 100_us);
    }
    CHECK(a.asked == asked + 1);  // its work may have ended meanwhile
    silent_until(ms(300));
    CHECK(stage.steps.count(Step::returned) > 10);
    CHECK(stage.steps.count(Step::whole) == 0);
  }
}

TEST_CASE("A request is not too long before the client's helper has said so, up to ten limits", "[live]") {
  Stage stage("disengaged-timeslice", drained_in_5_ms(), "{slice: 10 ms, limit: 30 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.begin_job();
  a.standing.outstanding = a.standing.deepest = 1;
  stage.play(ms(10));
  const auto silent_until = [&](Time until) {
    while (stage.now < until && !a.killed) {
      a.standing.unanswered = stage.now - ms(10);
      stage.play(stage.now + 100_us);
    }
  };
  silent_until(ms(60));
  CHECK_FALSE(a.killed);
  SECTION("it says that the request is over") {
    a.end_job();
    stage.at(ms(61));
    stage.play(ms(67));
    CHECK((b.permitted == kUnlimited && !a.killed));
  }
  SECTION("it says that the request goes on") {
    a.standing.unanswered = {};
    stage.play(ms(67));
    CHECK(a.killed);
  }
  SECTION("it says nothing") {
    silent_until(ms(309));
    CHECK_FALSE(a.killed);
    silent_until(ms(330));
    CHECK(a.killed);
  }
}

TEST_CASE("An overstay is forgotten after a hundred turns without one", "[live]") {
  Stage stage("disengaged-timeslice", drained_in_5_ms(), "{slice: 10 ms}");
  FakeClient& a = stage.open();
  stage.open();
  const auto overstay = [&] {
    while (a.permitted != kUnlimited) stage.play(stage.now + 1_ms);
    a.begin_job();
    a.standing.outstanding = 1;
    while (a.permitted != kReturned) stage.play(stage.now + 1_ms);
    a.end_job();
    while (a.permitted != 0) stage.play(stage.now + 1_ms);
  };
  stage.at(ms(0));
  for (int time = 0; time < 3; ++time) {
    overstay();
    for (int turn = 0; turn < 101; ++turn) {
      while (a.permitted != kUnlimited) stage.play(stage.now + 1_ms);
      while (a.permitted != 0) stage.play(stage.now + 1_ms);
    }
  }
  CHECK(stage.steps.count(Step::whole) == 0);
  overstay();
  overstay();
  CHECK(stage.steps.count(Step::whole) == 1);
}

}  // namespace
}  // namespace gangway::live

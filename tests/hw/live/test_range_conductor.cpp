// Policies that launch slices, over clients that do what the tests say: schedules worked out by hand.
#include "tests/catch.hpp"
#include "tests/hw/live/conductor_stage.hpp"

namespace gangway::live {
namespace {

using namespace literals;
using testing::FakeClient;
using testing::ms;
using testing::Stage;

constexpr const char* kTen = "{slice: block-tasks, block_tasks: 10}";

// The client stands before its kernel of that number.
void stand_before(FakeClient& client, std::uint32_t number, std::int64_t blocks, std::int64_t done = 0) {
  client.standing.slices = SlicedStanding{number, 1, {blocks}, {done}, {4}, {}};
  client.standing.away = 1;
}
void do_blocks(FakeClient& client, std::int64_t done) { client.standing.slices->done = {done}; }
void over(FakeClient& client) {
  client.standing.slices.reset();
  client.standing.away = 0;
}

}  // namespace

TEST_CASE("A kernel is cut into slices, and its job goes on with what else it submits", "[live]") {
  Stage stage("pkm", {}, kTen);
  FakeClient& a = stage.open(0);
  CHECK(stage.conductor->slices());
  a.begin_job();
  a.standing.waiting = true;
  stage.at(ms(0));
  CHECK((a.permitted == kUnlimited && a.sliced.empty()));  // whatever it submits
  a.standing.waiting = false;
  stand_before(a, 1, 25);
  stage.at(ms(1));
  CHECK(a.sliced == std::vector<FakeClient::SliceOrder>{{1, 10}});
  do_blocks(a, 5);
  stage.at(ms(2));
  CHECK(a.sliced.size() == 1);
  do_blocks(a, 10);
  stage.at(ms(3));
  do_blocks(a, 20);
  stage.at(ms(4));
  CHECK(a.sliced == std::vector<FakeClient::SliceOrder>{{1, 10}, {1, 20}, {1, 25}});
  over(a);
  stage.at(ms(5));
  stand_before(a, 2, 5);
  stage.at(ms(6));
  CHECK(a.sliced.back() == FakeClient::SliceOrder{2, 5});
  CHECK(stage.steps.count(Step::permitted) == 1);  // alone: its gate was open all the time
  CHECK(stage.steps.count(Step::sliced) == 3);
}

TEST_CASE("The most urgent kernel's next slice is launched, and the others' gates are closed", "[live]") {
  Stage stage("pkm", {}, kTen);
  FakeClient &low = stage.open(0), &high = stage.open(5);
  low.begin_job();
  stand_before(low, 1, 30);
  stage.at(ms(0));
  CHECK((low.permitted == kUnlimited && low.sliced.back().until == 10));
  CHECK(low.last_job == 0);
  high.begin_job();
  stand_before(high, 1, 15);
  stage.at(ms(1));
  CHECK((low.permitted == kUnlimited && high.permitted == 0));  // a slice is not cut
  CHECK(low.last_job == low.standing.job);                      // and its next job waits
  do_blocks(low, 10);
  stage.at(ms(2));
  CHECK((low.permitted == 0 && high.permitted == kUnlimited));
  CHECK(high.sliced == std::vector<FakeClient::SliceOrder>{{1, 10}});
  do_blocks(high, 10);
  stage.at(ms(3));
  CHECK(high.sliced.back().until == 15);
  over(high);
  high.end_job();
  stage.at(ms(4));
  CHECK((low.permitted == kUnlimited && high.permitted == 0));
  CHECK(low.sliced.back() == FakeClient::SliceOrder{1, 20});  // from where it was
}

TEST_CASE("While others wait, what cannot be cut has the device until that is over", "[live]") {
  Stage stage("pkm", {}, kTen);
  FakeClient &plain = stage.open(0), &other = stage.open(5);
  plain.begin_job();
  plain.standing.waiting = true;
  stage.at(ms(0));
  other.begin_job();
  stand_before(other, 1, 20);
  stage.at(ms(1));
  CHECK(plain.permitted == kUnlimited);  // it has submitted nothing yet
  plain.standing.submissions = plain.standing.outstanding = 3;
  stage.at(ms(2));
  CHECK((plain.permitted == 0 && other.permitted == 0));
  plain.standing.outstanding = 0;
  stage.at(ms(3));
  CHECK((other.permitted == kUnlimited && other.sliced.back().until == 10));
  over(other);
  other.end_job();
  stage.at(ms(4));
  CHECK((plain.permitted == kUnlimited && other.permitted == 0));
}

TEST_CASE("A client that has got its permit back may go on with all of its kernel", "[live]") {
  GateSettings settings;
  settings.drain_limit = 10_ms;
  Stage stage("pkm", settings, kTen);
  FakeClient &stuck = stage.open(0), &high = stage.open(5);
  stuck.begin_job();
  stuck.standing.waiting = true;
  stage.at(ms(0));
  high.begin_job();
  high.standing.waiting = true;
  stuck.standing.waiting = false;
  stuck.standing.submissions = stuck.standing.outstanding = 2;
  stage.at(ms(1));
  stage.at(ms(2));
  CHECK(stuck.permitted == 0);
  stage.play(ms(13));
  CHECK(stuck.permitted == kReturned);
  stand_before(stuck, 1, 50);
  stage.at(ms(14));
  CHECK(stuck.sliced == std::vector<FakeClient::SliceOrder>{{1, 50}});
}

TEST_CASE("A new daemon goes on where the kernel is", "[live]") {
  for (const char* policy : {"pkm", "microkernel-rr"}) {
    Stage stage(
        policy, {},
        policy == std::string("pkm") ? kTen : "{state: resident, blocks: block-tasks, block_tasks: 10}");
    FakeClient& a = stage.open(0);
    a.begin_job();
    stand_before(a, 9, 40, 17);
    stage.at(ms(0));
    CHECK(a.sliced == std::vector<FakeClient::SliceOrder>{{9, 27}});
    do_blocks(a, 27);
    stage.at(ms(1));
    CHECK(a.sliced.back() == FakeClient::SliceOrder{9, 37});
  }
}

TEST_CASE("A slice is as long as its latency allows, by what is known of the kernel", "[live]") {
  Stage stage("pkm", {}, "{latency: 1 ms}");
  FakeClient& a = stage.open(0);
  a.begin_job();
  stand_before(a, 1, 100);
  stage.at(ms(0));
  CHECK(a.sliced.back().until == 4);  // one wave, of a kernel that nobody knows
  over(a);
  stage.at(ms(1));
  stand_before(a, 2, 100);
  a.standing.slices->time = 5_ms;  // 25 waves of 200 us
  stage.at(ms(2));
  CHECK(a.sliced.back() == FakeClient::SliceOrder{2, 20});
}

TEST_CASE("microkernel-rr takes turns by slices of blocks", "[live]") {
  Stage stage("microkernel-rr", {}, "{state: resident, blocks: block-tasks, block_tasks: 10}");
  FakeClient &a = stage.open(0), &b = stage.open(0);
  for (FakeClient* client : {&a, &b}) {
    client->begin_job();
    stand_before(*client, 1, 20);
  }
  stage.at(ms(0));
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
  do_blocks(a, 10);
  stage.at(ms(1));
  CHECK((a.permitted == 0 && b.permitted == kUnlimited && b.sliced.back().until == 10));
  do_blocks(b, 10);
  stage.at(ms(2));
  CHECK((a.permitted == kUnlimited && b.permitted == 0 && a.sliced.back().until == 20));
}

TEST_CASE("Others wait for a slice that does not end only up to the drain limit, and take turns with it") {
  for (const char* policy : {"pkm", "microkernel-rr"}) {
    GateSettings settings;
    settings.drain_limit = 10_ms;
    Stage stage(
        policy, settings,
        policy == std::string("pkm") ? kTen : "{state: resident, blocks: block-tasks, block_tasks: 10}");
    FakeClient &stuck = stage.open(0), &other = stage.open(0);
    stuck.begin_job();
    stand_before(stuck, 1, 100);
    stuck.standing.outstanding = stuck.standing.submissions = 1;
    stage.play(ms(50));
    CHECK((stage.steps.count(Step::stays) == 0 && stuck.permitted == kUnlimited));  // nobody waits
    other.begin_job();
    stand_before(other, 1, 20);
    stage.play(ms(59));
    CHECK(stuck.permitted == kUnlimited);
    stage.play(ms(61));
    CHECK(stage.steps.count(Step::stays) == 1);
    CHECK((stuck.permitted == 0 && other.permitted == kUnlimited && other.sliced.back().until == 10));
    do_blocks(other, 10);
    stage.play(ms(65));  // it is not chosen again at once
    CHECK((stuck.permitted == 0 && other.sliced.back().until == 20));
    stage.play(ms(90));  // it has had another turn, as long as this
    CHECK(stage.steps.count(Step::stays) >= 2);
    do_blocks(stuck, 10);
    stuck.standing.outstanding = 0;
    do_blocks(other, 20);
    over(other);
    other.end_job();
    stage.play(ms(110));
    CHECK((stuck.permitted == kUnlimited && stuck.sliced.back().until == 20));
    CHECK(stage.steps.count(Step::returned) == 0);
  }
}

TEST_CASE("A slice that is known to be long has four times as long as expected") {
  GateSettings settings;
  settings.drain_limit = 10_ms;
  Stage stage("pkm", settings, kTen);
  FakeClient &slow = stage.open(0), &high = stage.open(5);
  slow.begin_job();
  stand_before(slow, 1, 100);
  slow.standing.slices->time = 100_ms;  // 10 ms a slice
  stage.play(ms(1));
  high.begin_job();
  stand_before(high, 1, 20);
  stage.play(ms(39));
  CHECK((slow.permitted == kUnlimited && stage.steps.count(Step::stays) == 0));
  stage.play(ms(43));
  CHECK((slow.permitted == 0 && high.permitted == kUnlimited));
}

TEST_CASE("An owner that dies in the middle of a slice leaves the device to the next", "[live]") {
  Stage stage("pkm", {}, kTen);
  FakeClient &a = stage.open(0), &b = stage.open(0);
  a.begin_job();
  stand_before(a, 1, 100);
  stage.at(ms(0));
  b.begin_job();
  stand_before(b, 1, 100);
  stage.at(ms(1));
  CHECK(b.permitted == 0);
  stage.conductor->exited(stage.now, a.id);
  stage.at(ms(2));
  CHECK((b.permitted == kUnlimited && b.sliced.back().until == 10));
}

TEST_CASE("Slices are refused beside managed memory", "[live]") {
  GateSettings settings;
  testing::ResidentMemory desk;
  settings.memory = &desk;
  CHECK_THROWS_WITH(Stage("pkm", settings), Catch::Matchers::ContainsSubstring("ranges"));
}

}  // namespace gangway::live

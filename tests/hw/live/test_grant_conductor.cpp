// Policies that hand out whole jobs: schedules worked out by hand.
#include "tests/catch.hpp"
#include "tests/hw/live/conductor_stage.hpp"

namespace gangway::live {
namespace {

using namespace literals;
using testing::FakeClient;
using testing::ms;
using testing::Stage;

TEST_CASE("A job's deadline is its begin and its client's objective", "[live]") {
  Stage stage("edf");
  FakeClient &patient = stage.open({0, 0, 1, 50_ms}), &urgent = stage.open({0, 1, 1, 5_ms}),
             &neither = stage.open();
  patient.begin_job();
  neither.begin_job();
  stage.at(ms(1));
  CHECK((patient.permitted == kUnlimited && neither.permitted == 0));
  urgent.begin_job();
  urgent.standing.waiting = true;
  stage.at(ms(2));
  CHECK((patient.permitted == 0 && urgent.permitted == kUnlimited && neither.permitted == 0));
  urgent.end_job();
  urgent.standing.waiting = false;
  stage.at(ms(3));
  CHECK((patient.permitted == kUnlimited && urgent.permitted == 0 && neither.permitted == 0));
  // Due at 58 ms, behind the patient one's 51.
  patient.standing.outstanding = 1;
  stage.play(ms(52));
  urgent.begin_job();
  stage.at(ms(53));
  CHECK((patient.permitted == kUnlimited && urgent.permitted == 0));
}

TEST_CASE("Whoever begins its next job at once does not have two turns while another waits", "[live]") {
  Stage stage("fcfs");
  FakeClient &quick = stage.open(), &slow = stage.open();
  quick.begin_job();
  stage.at(ms(0));
  CHECK((quick.permitted == kUnlimited && quick.last_job == 0));  // nobody else wants the device
  slow.begin_job();
  stage.at(ms(1));
  CHECK((slow.permitted == 0 && quick.last_job == quick.standing.job));
  quick.end_job();
  quick.begin_job();  // its first submission waits at its open gate
  quick.standing.waiting = true;
  stage.at(ms(2));
  CHECK((quick.permitted == 0 && slow.permitted == kUnlimited));
  CHECK(slow.last_job == slow.standing.job);
  slow.end_job();
  stage.at(ms(3));
  CHECK((slow.permitted == 0 && quick.permitted == kUnlimited));
  CHECK(quick.last_job == 0);
  quick.standing.waiting = false;
  // The other comes back, and leaves for good.
  slow.begin_job();
  stage.at(ms(4));
  CHECK(quick.last_job == quick.standing.job);
  stage.conductor->exited(ms(5), slow.id);
  stage.at(ms(5));
  CHECK((quick.permitted == kUnlimited && quick.last_job == 0));
}

TEST_CASE("A gate that stays open for its client's next job is for any, once nobody waits", "[live]") {
  Stage stage("fcfs");
  FakeClient &a = stage.open(), &b = stage.open();
  a.begin_job();
  stage.at(ms(0));
  b.begin_job();
  stage.at(ms(1));
  CHECK(a.last_job == a.standing.job);
  a.end_job();
  stage.conductor->exited(ms(2), b.id);
  stage.at(ms(2));
  CHECK((a.permitted == kUnlimited && a.last_job == 0));
  a.begin_job();
  stage.at(ms(3));
  CHECK((a.permitted == kUnlimited && a.last_job == 0));
}

TEST_CASE("A permit that returns is for all jobs", "[live]") {
  Stage stage("piv");
  FakeClient &low = stage.open(0), &other = stage.open(0), &high = stage.open(5);
  low.begin_job();
  stage.at(ms(0));
  low.standing.outstanding = 1;
  other.begin_job();
  stage.at(ms(1));
  CHECK(low.last_job == low.standing.job);
  high.begin_job();
  stage.at(ms(2));
  CHECK(low.permitted == 0);
  stage.play(ms(150));  // what it has on the device may wait for its next job
  CHECK((low.permitted == kReturned && low.last_job == 0));
}

TEST_CASE("piv takes the permit from the less urgent job and gives it back", "[live]") {
  Stage stage("piv");
  FakeClient &low = stage.open(0), &high = stage.open(5);
  low.begin_job();
  low.standing.waiting = true;
  stage.at(ms(0));
  CHECK((low.permitted == kUnlimited && high.permitted == 0));
  low.standing.waiting = false;
  low.standing.outstanding = 8;
  high.begin_job();
  high.standing.waiting = true;
  stage.at(ms(1));
  CHECK((low.permitted == 0 && high.permitted == 0));
  low.standing.outstanding = 0;
  stage.at(ms(2));
  CHECK((low.permitted == 0 && high.permitted == kUnlimited));
  high.standing.waiting = false;
  high.end_job();
  stage.at(ms(3));
  CHECK((low.permitted == kUnlimited && high.permitted == 0));
  CHECK(stage.steps.count(Step::drained) == 2);  // the urgent one had nothing left
  CHECK(stage.steps.count(Step::evicted) == 1);
}

TEST_CASE("With overlap the urgent job begins when the other's gate is closed", "[live]") {
  GateSettings settings;
  settings.overlap = true;
  Stage stage("piv", settings);
  FakeClient &low = stage.open(0), &high = stage.open(5);
  low.begin_job();
  stage.at(ms(0));
  low.standing.outstanding = 8;
  low.standing.inside = true;
  high.begin_job();
  stage.at(ms(1));
  CHECK(high.permitted == 0);
  low.standing.inside = false;
  high.standing.outstanding = 1;
  stage.at(ms(2));
  CHECK(high.permitted == kUnlimited);
  // What is left of the other is over while the urgent one runs.
  CHECK((stage.steps.count(Step::closed) == 1 && stage.steps.count(Step::drained) == 0));
  low.standing.outstanding = 0;
  stage.at(ms(3));
  CHECK(stage.steps.count(Step::drained) == 1);
  stage.at(ms(4));
  CHECK(stage.steps.count(Step::drained) == 1);
}

TEST_CASE("What goes on before it had drained has not drained", "[live]") {
  GateSettings settings;
  settings.overlap = true;
  Stage stage("piv", settings);
  FakeClient &low = stage.open(0), &high = stage.open(5);
  low.begin_job();
  stage.at(ms(0));
  low.standing.outstanding = 8;
  high.begin_job();
  stage.at(ms(1));
  high.end_job();
  stage.at(ms(2));
  CHECK(low.permitted == kUnlimited);
  low.standing.outstanding = 0;
  stage.at(ms(3));
  CHECK(stage.steps.count(Step::drained) == 1);  // of the urgent one, which left nothing
}

TEST_CASE("Only who can be displaced is limited in flight, and only meanwhile", "[live]") {
  GateSettings settings;
  settings.in_flight = 4;
  Stage stage("piv", settings);
  FakeClient& low = stage.open(0);
  low.begin_job();
  stage.at(ms(0));
  CHECK(low.permitted == kUnlimited);
  FakeClient& high = stage.open(5);
  CHECK(low.permitted == 4);
  high.begin_job();
  stage.at(ms(1));
  CHECK(high.permitted == kUnlimited);
  stage.conductor->exited(stage.now, high.id);
  stage.at(ms(2));
  CHECK(low.permitted == kUnlimited);
}

TEST_CASE("A client alone keeps its gate open from job to job", "[live]") {
  Stage stage("piv");
  FakeClient& alone = stage.open(0);
  for (int job = 0; job < 5; ++job) {
    alone.begin_job();
    stage.at(ms(3 * job));
    CHECK(alone.permitted == kUnlimited);
    alone.end_job();
    stage.at(ms(3 * job + 1));
    CHECK(alone.permitted == kUnlimited);
  }
  CHECK(stage.steps.count(Step::permitted) == 1);
  FakeClient& other = stage.open(0);
  other.begin_job();
  stage.at(ms(20));
  CHECK((alone.permitted == 0 && other.permitted == kUnlimited));
}

TEST_CASE("An owner of whom nothing is on the device loses it to who waits", "[live]") {
  Stage stage("fcfs");
  FakeClient &a = stage.open(), &b = stage.open();
  a.begin_job();  // and never synchronises
  stage.at(ms(0));
  a.standing.outstanding = 1;
  b.begin_job();
  stage.play(ms(5));
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
  CHECK(a.asked > 0);
  a.standing.outstanding = 0;
  stage.play(ms(7));
  CHECK((a.permitted == 0 && b.permitted == kUnlimited));
}

TEST_CASE("An owner that gets or frees memory keeps the device, and has a pause from then on", "[live]") {
  Stage stage("fcfs");
  FakeClient &a = stage.open(), &b = stage.open();
  a.begin_job();
  stage.at(ms(0));
  b.begin_job();
  a.standing.changes_memory = true;  // and nothing on the device
  stage.play(ms(20));
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
  a.standing.changes_memory = false;
  stage.play(Time{20'900'000});
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
  stage.play(Time{21'200'000});
  CHECK((a.permitted == 0 && b.permitted == kUnlimited));
}

TEST_CASE("The shortest job goes first by what jobs of its program have taken", "[live]") {
  // Jobs of program 1 take 20 ms, those of program 2 take 5 ms; unknown ones are tried first.
  Stage stage("sjf");
  FakeClient &slow = stage.open(0, 1), &fast = stage.open(0, 2);
  slow.begin_job();
  stage.at(ms(0));
  CHECK(slow.permitted == kUnlimited);
  slow.standing.outstanding = 1;
  stage.at(ms(20));
  slow.end_job();
  stage.at(ms(20));
  fast.begin_job();
  stage.at(ms(20));
  CHECK((slow.permitted == 0 && fast.permitted == kUnlimited));
  fast.standing.outstanding = 1;
  stage.at(ms(25));
  fast.end_job();
  stage.at(ms(25));
  FakeClient& third = stage.open(0, 3);
  third.begin_job();
  stage.at(ms(26));  // nobody has seen its program
  CHECK(third.permitted == kUnlimited);
  third.standing.outstanding = 1;
  slow.begin_job();
  fast.begin_job();
  stage.at(ms(27));
  CHECK((third.permitted == kUnlimited && slow.permitted == 0 && fast.permitted == 0));
  third.end_job();
  stage.at(ms(28));
  CHECK((slow.permitted == 0 && fast.permitted == kUnlimited));
  fast.end_job();
  stage.at(ms(29));
  CHECK(slow.permitted == kUnlimited);
}

Introduction on_gpu(std::uint32_t gpu, std::int32_t priority = 0) {
  Introduction introduction;
  introduction.priority = priority;
  introduction.gpu = {gpu};
  return introduction;
}

TEST_CASE("one policy has an owner on each GPU, and each client's turn is on its own") {
  GateSettings settings;
  settings.gpus = 2;
  Stage stage("fcfs", settings);
  FakeClient &a = stage.open(on_gpu(0)), &b = stage.open(on_gpu(0)), &c = stage.open(on_gpu(1));
  for (FakeClient* client : {&a, &b, &c}) client->begin_job();
  stage.at({1000});
  CHECK(a.permitted == kUnlimited);
  CHECK(b.permitted == 0);  // it waits for its GPU, though it came before c
  CHECK(c.permitted == kUnlimited);
  c.end_job();
  stage.at({2000});
  CHECK(b.permitted == 0);  // the other GPU is free, and not for it
  a.end_job();
  stage.play({3000}, Duration{100});
  CHECK(b.permitted == kUnlimited);
}

TEST_CASE("an urgent client displaces the owner of its GPU alone") {
  GateSettings settings;
  settings.gpus = 2;
  settings.in_flight = 4;
  Stage stage("piv", settings);
  FakeClient &a = stage.open(on_gpu(0)), &b = stage.open(on_gpu(1));
  a.begin_job();
  b.begin_job();
  stage.at({1000});
  FakeClient& urgent = stage.open(on_gpu(1, 5));
  stage.at({1500});
  CHECK(a.permitted == kUnlimited);  // nobody can displace it
  CHECK(b.permitted == 4);
  urgent.begin_job();
  stage.play({3000}, Duration{100});
  CHECK(a.permitted == kUnlimited);
  CHECK(b.permitted == 0);
  CHECK(urgent.permitted == kUnlimited);
}

TEST_CASE("Where memory moves, a pause is as long as the moves make worth while", "[live]") {
  testing::ResidentMemory memory;
  GateSettings settings;
  settings.memory = &memory;
  // Moves of 50 ms, or none: states are on the device.
  for (const auto& [grows, moves, least] :
       {std::tuple(true, 50, 5), {true, 0, 1}, {true, 5, 1}, {false, 50, 1}}) {
    CAPTURE(grows, moves);
    settings.linger_grows = grows;
    memory.moves_for = Duration{moves * 1'000'000};
    Stage stage("fcfs", settings);
    FakeClient &a = stage.open(), &b = stage.open();
    a.begin_job();
    a.standing.outstanding = 1;
    stage.at(ms(1));
    b.begin_job();
    b.standing.waiting = true;
    stage.at(ms(2));
    REQUIRE(a.permitted == kUnlimited);
    a.standing.outstanding = 0;  // in the middle of its job
    stage.at({2'000'000 + least * 1'000'000 - 100'000});
    CHECK((a.permitted == kUnlimited && b.permitted == 0));
    stage.at({2'000'000 + least * 1'000'000 + 100'000});
    CHECK((a.permitted == 0 && b.permitted == kUnlimited));
  }
}

TEST_CASE("Where memory moves, what lies outside a program's ranges is over with a pause", "[live]") {
  testing::ResidentMemory memory;
  for (const bool moves : {true, false})
    for (const bool outside : {true, false}) {
      CAPTURE(moves, outside);
      GateSettings settings;
      settings.memory = moves ? &memory : nullptr;
      Stage stage("fcfs", settings);
      FakeClient &a = stage.open(), &b = stage.open();
      const auto works_while_b_waits = [&](std::int64_t since) {
        a.begin_job();
        a.standing.outstanding = 1;
        stage.at(ms(since));
        REQUIRE(a.permitted == kUnlimited);
        b.begin_job();
        b.standing.waiting = true;
        stage.at(ms(since + 1));
      };
      a.standing.outside = outside;
      works_while_b_waits(0);
      a.end_job();  // a copy of a few bytes
      stage.at({1'500'000});
      CHECK((b.permitted == 0) == (moves && outside));
      if (!moves || !outside) continue;
      a.begin_job();
      a.standing.outstanding = 1;
      stage.at(ms(3));  // for longer than the pause: it works
      a.end_job();
      stage.at({3'900'000});
      CHECK((a.permitted == kUnlimited && b.permitted == 0));
      stage.at({4'100'000});
      CHECK((a.permitted == 0 && b.permitted == kUnlimited));
      b.end_job();
      b.standing.waiting = false;
      works_while_b_waits(5);
      a.end_job();
      a.standing.outside = false;  // a range begins, which is a job
      a.begin_job();
      stage.at({6'100'000});
      CHECK((a.permitted == 0 && b.permitted == kUnlimited));
    }
}

}  // namespace
}  // namespace gangway::live

// Programs that are one client together.
#include "hw/live/client_group.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/conductor_stage.hpp"

namespace gangway::live {
namespace {

using namespace literals;
using testing::FakeClient;
using testing::ms;
using testing::Stage;

TEST_CASE("A group has one turn, one gate and one job", "[live]") {
  Stage stage("timeslice", {}, "{slice: 10 ms}");
  FakeClient a, b;
  ClientGroup group;
  group.add(a);
  group.id = stage.conductor->opens(stage.now, group, {});
  group.add(b);
  FakeClient& other = stage.open();
  stage.at(ms(0));
  CHECK((a.permitted == kIntercepted && b.permitted == kIntercepted && other.permitted == 0));
  // Their submissions are admitted by their own numbers, in the order in which they were seen.
  a.standing.asked = 2;
  stage.at(ms(1));
  b.standing.asked = 7;
  stage.at(ms(2));
  CHECK((a.admitted == 2 && b.admitted == 7));
  // The slice is over when nothing of either is left.
  b.standing.outstanding = 1;
  stage.at(ms(10));
  CHECK((a.permitted == 0 && b.permitted == 0 && other.permitted == 0));
  b.standing.outstanding = 0;
  stage.at(ms(11));
  CHECK((a.permitted == 0 && b.permitted == 0 && other.permitted == kIntercepted));
  // One of them leaves, and the other has the group's turn to itself.
  group.remove(a);
  stage.at(ms(21));
  CHECK((b.permitted == kIntercepted && other.permitted == 0));
  CHECK(!group.empty());
}

TEST_CASE("A group that gets memory is not idle, whichever member does", "[live]") {
  GateSettings settings;
  settings.linger = 1_ms;
  Stage stage("fcfs", settings);
  FakeClient a, b;
  ClientGroup group;
  group.add(a);
  group.add(b);
  group.id = stage.conductor->opens(stage.now, group, {});
  FakeClient& other = stage.open();
  for (FakeClient* client : {&a, &other}) {
    client->begin_job();
    client->standing.waiting = true;
    stage.at(stage.now + 1_ms);
  }
  a.standing.waiting = false;
  b.standing.changes_memory = true;
  stage.play(stage.now + 10_ms);
  CHECK((a.permitted != 0 && other.permitted == 0));
  b.standing.changes_memory = false;
  stage.play(stage.now + 10_ms);
  CHECK((a.permitted == 0 && other.permitted != 0));
}

TEST_CASE("What is seen of a group's members is seen of the group", "[live]") {
  FakeClient a, b;
  ClientGroup group;
  group.add(a);
  group.add(b);
  a.standing.channels = 2;
  b.standing.channels = 3;
  b.standing.priority = 4;
  a.standing.outside = true;
  CHECK(group.look().channels == 5);
  CHECK(group.look().priority == 4);
  CHECK(!group.look().outside);
  b.standing.outside = true;
  CHECK(group.look().outside);
}

TEST_CASE("The members of a group share its channels", "[live]") {
  FakeClient a, b, c;
  ClientGroup group;
  group.limit(7);
  group.add(a);
  CHECK(a.limited == 7);
  group.add(b);
  CHECK((a.limited == 4 && b.limited == 3));
  a.standing.channels = 4;
  group.look();
  CHECK((a.limited == 6 && b.limited == 1));  // of the three that are left
  a.standing.channels = 6;
  b.standing.channels = 1;
  group.add(c);
  CHECK((a.limited == 6 && b.limited == 1));
  CHECK(c.limited == Port::kFirstContextOnly);  // it may submit, as its group may
  group.remove(a);
  CHECK((b.limited == 4 && c.limited == 3));
  group.limit(0);
  CHECK((b.limited <= 1 && c.limited == 0));
  group.limit(std::nullopt);
  CHECK((!b.limited && !c.limited));
}

TEST_CASE("All members of a group are roused", "[live]") {
  FakeClient a, b;
  ClientGroup group;
  group.add(a);
  group.add(b);
  group.rouse();
  CHECK((a.roused == 1 && b.roused == 1));
}

TEST_CASE("A group's job lasts while any of its members has one under way", "[live]") {
  FakeClient a, b;
  ClientGroup group;
  group.add(a);
  group.add(b);
  CHECK(group.look().job == 0);
  a.begin_job();
  CHECK(group.look().job == 1);
  b.begin_job();
  a.end_job();
  CHECK(group.look().job == 1);
  b.end_job();
  CHECK(group.look().job == 2);
  a.standing.submissions = 5;
  b.standing.submissions = 7;
  group.remove(a);
  CHECK(group.look().submissions == 12);  // it never goes back
}

}  // namespace
}  // namespace gangway::live

// Policies over live clients, with clients and a clock that the tests play: schedules worked out by hand.
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "hw/live/client_group.hpp"
#include "hw/live/conductor.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"

namespace gangway::live {
namespace {

using namespace literals;

class FakeClient : public Port {
 public:
  void permit(std::uint32_t allowed) override { permitted = allowed; }
  void admit(std::uint64_t number) override { admitted = number; }
  Standing look() override { return standing; }
  void ask() override { ++asked; }
  void kill() override { killed = true; }

  void begin_job() {
    if (standing.job % 2 == 0) ++standing.job;
  }
  void end_job() {
    if (standing.job % 2 == 1) ++standing.job;
    standing.outstanding = 0;
  }

  Standing standing;
  std::uint32_t permitted = 0;
  std::uint64_t admitted = 0;
  int asked = 0;
  bool killed = false;
  ClientId id;
};

class Steps : public Journal {
 public:
  void note(Time now, Step step, ClientId client, std::int64_t value) override {
    all.push_back({now, step, client.index, value});
  }
  struct Noted {
    Time time;
    Step step;
    std::uint32_t client;
    std::int64_t value;
  };
  int count(Step step) const {
    int n = 0;
    for (const Noted& noted : all) n += noted.step == step ? 1 : 0;
    return n;
  }
  std::vector<Noted> all;
};

// Mapping of parameters as `serve --param` makes it.
std::unique_ptr<Policy> policy_of(const std::string& name, const std::string& parameters) {
  const Node given = parse_yaml(parameters, "test");
  const PolicyEntry& entry = Policies::named(name, "test", "policy");
  return entry.make(ParameterValues(entry.parameters, Field(given, name)));
}

struct Stage {
  explicit Stage(const std::string& policy, GateSettings settings = {}, const std::string& parameters = "{}")
      : conductor(Conductor::make(policy, policy_of(policy, parameters), settings, steps)) {
    conductor->begin({});
  }
  FakeClient& open(std::int32_t priority = 0, std::uint32_t program = 0) {
    clients.push_back(std::make_unique<FakeClient>());
    clients.back()->id = *conductor->opens(now, *clients.back(), {priority, program});
    return *clients.back();
  }
  FakeClient& open(const Introduction& introduction) {
    clients.push_back(std::make_unique<FakeClient>());
    clients.back()->id = *conductor->opens(now, *clients.back(), introduction);
    return *clients.back();
  }
  // Steps at `now` + each following `grain`, up to and at `until`.
  void play(Time until, Duration grain = 100_us) {
    for (; now <= until; now = now + grain) conductor->step(now);
    now = until;
    conductor->step(now);
  }
  void at(Time time) {
    now = time;
    conductor->step(now);
  }

  Steps steps;
  std::unique_ptr<Conductor> conductor;
  std::vector<std::unique_ptr<FakeClient>> clients;
  Time now;
};

Time ms(std::int64_t n) { return Time{n * 1'000'000}; }

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

TEST_CASE("A client that overran its slices by more than one is passed over", "[live]") {
  Stage stage("disengaged-timeslice", {}, "{slice: 10 ms}");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.standing.outstanding = 1;
  stage.at(ms(10));
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
    while (a.permitted != kUnlimited && stage.now < ms(1000)) stage.play(stage.now + 1_ms);
    a.end_job();
    while (a.permitted != 0 && stage.now < ms(1000)) stage.play(stage.now + 1_ms);
    a.begin_job();
  }
  REQUIRE(stage.steps.count(Step::whole) == 1);
  while (a.permitted != kIntercepted && stage.now < ms(1000)) stage.play(stage.now + 1_ms);
  REQUIRE(stage.now < ms(1000));
  a.standing.outstanding = 1;
  stage.play(stage.now + 500_ms);
  CHECK(a.permitted == kUnlimited);  // so that its job can end
  CHECK(!a.killed);
  a.end_job();
  stage.play(stage.now + 5_ms);
  CHECK(a.permitted == 0);
}

TEST_CASE("A page that says that millions wait costs its client its life, not the daemon", "[live]") {
  Stage stage("trap-per-request");
  FakeClient &a = stage.open(), &b = stage.open();
  stage.at(ms(0));
  a.standing.asked = UINT64_MAX / 2;
  b.standing.asked = 1;
  stage.at(ms(1));
  CHECK(a.killed);
  CHECK((!b.killed && b.admitted == 1));
  FakeClient member;
  ClientGroup group;
  group.add(member);
  member.standing.asked = UINT64_MAX / 2;
  group.look();
  CHECK(member.killed);
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

TEST_CASE("Shares are in proportion to weights", "[live]") {
  for (const std::string policy : {"stride", "stride-timeslice"}) {
    INFO(policy);
    Stage stage(policy, {}, policy == "stride" ? "{quantum: 1 ms}" : "{slice: 1 ms}");
    FakeClient &heavy = stage.open({0, 0, 3, {}}), &light = stage.open({0, 1, 1, {}});
    for (FakeClient* client : {&heavy, &light}) {
      client->begin_job();
      client->standing.waiting = true;
      client->standing.submissions = 1;
    }
    int heavy_has = 0, light_has = 0;
    for (; stage.now < ms(80); stage.now = stage.now + 100_us) {
      for (FakeClient* client : {&heavy, &light}) ++client->standing.submissions;
      stage.conductor->step(stage.now);
      CHECK_FALSE((heavy.permitted != 0 && light.permitted != 0));
      heavy_has += heavy.permitted != 0 ? 1 : 0;
      light_has += light.permitted != 0 ? 1 : 0;
    }
    CHECK(static_cast<double>(heavy_has) / light_has == Approx(3).epsilon(0.15));
  }
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
  CHECK((a.permitted == kUnlimited && b.permitted == 0));
  CHECK(stage.steps.count(Step::returned) == 1);
  stage.at(ms(22));
  CHECK(a.permitted == 0);  // once more
  stage.at(ms(28));
  CHECK(a.permitted == kUnlimited);
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
  CHECK((a.permitted == kUnlimited && b.permitted == 0));  // not inside a job
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
  CHECK(a.permitted == kUnlimited);
  stage.at(ms(17));
  CHECK(a.killed);
  stage.conductor->exited(stage.now, a.id);
  stage.at(ms(18));
  CHECK(b.permitted == kUnlimited);
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
  stage.at(ms(2));
  CHECK(high.permitted == kUnlimited);
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

TEST_CASE("Clients that go in any state leave the device to the others", "[live]") {
  Stage stage("piv");
  FakeClient &a = stage.open(1), &b = stage.open(1), &c = stage.open(0);
  for (FakeClient* client : {&a, &b, &c}) client->begin_job();
  stage.at(ms(0));
  CHECK(a.permitted == kUnlimited);
  SECTION("the owner") { stage.conductor->exited(stage.now, a.id); }
  SECTION("one that waits, then the owner") {
    stage.conductor->exited(stage.now, b.id);
    stage.at(ms(1));
    CHECK(a.permitted == kUnlimited);
    stage.conductor->exited(stage.now, a.id);
    stage.at(ms(2));
    CHECK(c.permitted == kUnlimited);
    return;
  }
  stage.at(ms(1));
  CHECK(b.permitted == kUnlimited);
  stage.conductor->exited(stage.now, b.id);
  stage.at(ms(2));
  CHECK(c.permitted == kUnlimited);
  stage.conductor->exited(stage.now, c.id);
  stage.at(ms(3));
  FakeClient& d = stage.open(0);
  d.begin_job();
  stage.at(ms(4));
  CHECK(d.permitted == kUnlimited);
}

TEST_CASE("There is room for so many clients, and again when they are gone", "[live]") {
  Stage stage("fcfs");
  for (std::uint32_t c = 0; c < kMostClients; ++c) stage.open();
  FakeClient extra;
  CHECK_FALSE(stage.conductor->opens(stage.now, extra, {}).has_value());
  stage.conductor->exited(stage.now, stage.clients[7]->id);
  CHECK(stage.conductor->opens(stage.now, extra, {}) == ClientId{7, 1});  // not the one that was there
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

// Random comings and goings: whatever happens, one gate at most is open, the policy is told of nobody who is
// not there, and the device is never left idle while somebody waits.
TEST_CASE("Clients come and go in any order without a stale id", "[live][long]") {
  const std::vector<std::string> policies = [] {
    std::vector<std::string> names;
    for (const PolicyEntry& entry : Policies::all()) {
      const auto policy = entry.make(ParameterValues(entry.parameters, std::nullopt));
      if (policy->needs().missing_from({Capability::evict}).none() && policy->needs().has(Capability::evict))
        names.push_back(entry.name);
    }
    names.push_back("disengaged-timeslice");
    return names;
  }();
  REQUIRE(policies.size() >= 8);
  for (const auto number : testing::case_numbers(40, 4'000)) {
    Stream random(number, "comings", {});
    for (const std::string& name : policies) {
      INFO(name << ", case " << number);
      const bool owners = name != "disengaged-timeslice";
      GateSettings settings;
      settings.overlap = random.below(2) == 0;
      settings.linger = 300_us;
      Stage stage(name, settings);
      std::vector<FakeClient*> there;
      for (int turn = 0; turn < 200; ++turn) {
        const std::uint64_t what = random.below(10);
        if (what == 0 && there.size() < 6) {
          there.push_back(&stage.open(static_cast<std::int32_t>(random.below(3)),
                                      static_cast<std::uint32_t>(random.below(3))));
        } else if (what == 1 && !there.empty()) {
          const auto gone = there.begin() + static_cast<std::ptrdiff_t>(random.below(there.size()));
          stage.conductor->exited(stage.now, (*gone)->id);
          (*gone)->permitted = 0;
          there.erase(gone);
        } else if (!there.empty()) {
          FakeClient& client = *there[random.below(there.size())];
          const bool open = client.permitted != 0;
          if (what < 5) client.begin_job();
          if (what == 5 && open) client.end_job();
          if (what == 6 && open && client.standing.job % 2 == 1) client.standing.outstanding = 1;
          if (what == 7) client.standing.outstanding = 0;
        }
        for (FakeClient* client : there)
          client->standing.waiting = client->standing.job % 2 == 1 && client->permitted == 0;
        stage.at(stage.now + Duration{static_cast<std::int64_t>(random.below(400'000))});
        int open = 0;
        for (const FakeClient* client : there) open += client->permitted != 0 ? 1 : 0;
        REQUIRE(open <= 1);
      }
      // In the end everybody's work is done, and whoever has a job gets the device.
      for (int round = 0; round < 400 && owners; ++round) {
        bool jobs = false;
        for (FakeClient* client : there) {
          client->standing.outstanding = 0;
          jobs = jobs || client->standing.job % 2 == 1;
          if (client->permitted != 0) client->end_job();
          client->standing.waiting = client->standing.job % 2 == 1;
        }
        if (!jobs) break;
        REQUIRE(round < 399);
        stage.at(stage.now + 1_ms);
      }
    }
  }
}

TEST_CASE("Policies that live clients cannot obey are refused", "[live]") {
  const std::string name = GENERATE("pkm", "microkernel-rr");
  CHECK_THROWS_AS(Stage(name), InputError);
}

}  // namespace
}  // namespace gangway::live

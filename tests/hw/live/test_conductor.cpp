// What all policies over live clients have in common.
#include <string>
#include <vector>

#include "hw/live/client_group.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/conductor_stage.hpp"

namespace gangway::live {
namespace {

using namespace literals;
using testing::FakeClient;
using testing::ms;
using testing::Stage;

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
  for (const auto number : gangway::testing::case_numbers(40, 4'000)) {
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
  CHECK_THROWS_AS(Stage("microkernel-rr"), InputError);  // slices, and memory that moves
}

}  // namespace
}  // namespace gangway::live

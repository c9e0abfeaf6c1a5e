// The device's side of clients that submit by themselves, worked out by hand from sim/channels/README.md.
// Times in us.
#include "models/metrics/replication.hpp"
#include "models/run/job_book.hpp"
#include "tests/catch.hpp"
#include "tests/sim/channels/access_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

Kernel kernel_of(std::int64_t us) { return looping("", us).kernels[0]; }

}  // namespace

TEST_CASE("direct access: channels in turn, and a switch between clients") {
  Scenario scenario = in_turn({looping("A", 10), looping("B", 30)}, 100);
  scenario.device.access.context_switch = Duration{2000};
  CHECK(starts(play(scenario, "passthrough"), scenario) ==
        Lines{"0 A", "12 B", "44 A", "56 B", "88 A", "100 B"});
  // Alone nobody switches.
  Scenario alone = in_turn({looping("A", 10)}, 30);
  alone.device.access.context_switch = Duration{2000};
  CHECK(starts(play(alone, "passthrough"), alone) == Lines{"0 A", "10 A", "20 A", "30 A"});
}

TEST_CASE("direct access: a turn is what waits when it begins, or one request") {
  // A submits three at once, and the next three when they are done; B one at a time.
  Client a = looping("A", 5);
  a.kernels = {kernel_of(5), kernel_of(5), kernel_of(5)};
  a.blocking = false;
  Scenario scenario = in_turn({a, looping("B", 20)}, 80);
  CHECK(starts(play(scenario, "passthrough"), scenario) ==
        Lines{"0 A", "5 A", "10 A", "15 B", "35 A", "40 A", "45 A", "50 B", "70 A", "75 A", "80 A"});
  scenario.device.access.whole_queue = false;
  CHECK(starts(play(scenario, "passthrough"), scenario) ==
        Lines{"0 A", "5 B", "25 A", "30 B", "50 A", "55 B", "75 A", "80 B"});
}

TEST_CASE("a host that does not wait submits behind its gaps, and its next job when this one is done") {
  Client a = looping("A", 10, 3);
  a.kernels.push_back(a.kernels[0]);
  a.blocking = false;
  const Scenario scenario = in_turn({a}, 60);
  // Submitted at 3 and 6; done at 13 and 23; the next job's at 26 and 29.
  const Played played = play(scenario, "passthrough");
  CHECK(starts(played, scenario) == Lines{"3 A", "13 A", "26 A", "36 A", "49 A", "59 A"});
  CHECK(played.jobs[0].response() == Duration{23'000});
  CHECK(played.jobs[0].standalone == Duration{23'000});
  CHECK(played.jobs[1].arrival == Time{23'000});
}

TEST_CASE("two frames in flight: while one is on the device the next is made") {
  Client a = looping("A", 10, 8);
  a.blocking = false;
  a.frames_in_flight = 2;
  const Scenario scenario = in_turn({a}, 60);
  // Made at 8 and 16; the first is done at 18 and releases the third, made at 26; the second at 28.
  const Played played = play(scenario, "passthrough");
  CHECK(starts(played, scenario) == Lines{"8 A", "18 A", "28 A", "38 A", "48 A", "58 A"});
  CHECK(played.jobs[3].response() == Duration{20'000});
  CHECK(played.jobs[3].standalone == Duration{20'000});
}

TEST_CASE("alone, frames in flight that overlap count once between two finishes") {
  Client a = looping("A", 10, 8);
  a.blocking = false;
  a.frames_in_flight = 2;
  std::int64_t expected = 0;
  SECTION("the device is the busier") { expected = 10'000; }
  SECTION("the host is the busier") {
    a.kernels[0].gap = Duration{30'000};
    expected = 30'000;
  }
  SECTION("a host that waits leaves nothing to overlap") {
    a.blocking = true;
    expected = 18'000;
  }
  SECTION("copies to the device overlap with kernels") {
    a = copying(a, 3, 0);
    a.kernels[0].gap = Duration{9'000};
    expected = 12'000;
  }
  SECTION("copies back wait for kernels") {
    a = copying(a, 3, 4);
    expected = 25'000;
  }
  const Scenario scenario = in_turn({a}, 500);
  const auto mechanism = mechanism_from("ideal");
  Workload workload;
  workload.clients = scenario.clients;
  const WorldSetup setup{workload, scenario.device, *mechanism};
  CHECK(pace_alone(setup, a, CountedForm::standalone).between_finishes == Duration{expected});
  CHECK(standalone_of(setup, a) == Duration{2 * expected});
  const Played played = play(scenario, "passthrough");
  for (std::size_t i = 3; i < 10; ++i)
    CHECK(*played.jobs[i].finish - *played.jobs[i - 1].finish == Duration{expected});
  CHECK(played.jobs[9].response() == Duration{2 * expected});
}

TEST_CASE("alone, a client with two frames in flight is no more efficient than one client can be") {
  Client a = looping("A", 10, 8);
  a.blocking = false;
  a.frames_in_flight = 2;
  const Played played = play(in_turn({a}, 60), "passthrough");
  ReplicationMeter meter({{Duration{10'000}, false, 2}}, false);
  for (const JobResult& job : played.jobs) meter.job(job);
  meter.run_over(played.totals);
  // Five frames from 0 to 58, whose responses are 20, and one in 10.
  CHECK(meter.metrics().concurrency_efficiency == Approx(5 * 10 / 58.0));
}

TEST_CASE("graphics yield to others for as long as their turn was") {
  // A draws: two frames of two requests each, which are one turn of 20 us.
  Client a = looping("A", 5);
  a.kernels.push_back(a.kernels[0]);
  a.blocking = false;
  a.frames_in_flight = 2;
  const auto beside = [&](const Client& b) {
    const Scenario scenario = in_turn({a, b}, 92);
    return starts(play(scenario, "passthrough"), scenario);
  };
  const Lines turn{"0 A", "5 A", "10 A", "15 A"};
  const auto then = [&](Lines rest) {
    rest.insert(rest.begin(), turn.begin(), turn.end());
    return rest;
  };
  SECTION("short requests run until they have had as long") {
    CHECK(beside(looping("B", 8)) ==
          then({"20 B", "28 B", "36 B", "44 A", "49 A", "54 A", "59 A", "64 B", "72 B", "80 B", "88 A"}));
  }
  SECTION("one that is longer is enough") {
    CHECK(beside(looping("B", 50)) == then({"20 B", "70 A", "75 A", "80 A", "85 A", "90 B"}));
  }
  SECTION("where nobody else waits they go on") {
    // B's requests come at 30 and at 78, each in a turn of A's.
    CHECK(beside(looping("B", 8, 30)) == then({"20 A", "25 A", "30 A", "35 A", "40 B", "48 A", "53 A", "58 A",
                                               "63 A", "68 A", "73 A", "78 A", "83 A", "88 B"}));
  }
  SECTION("two that draw take turns") {
    Client b = a;
    b.name = "B";
    CHECK(beside(b) == then({"20 B", "25 B", "30 B", "35 B", "40 A", "45 A", "50 A", "55 A", "60 B", "65 B",
                             "70 B", "75 B", "80 A", "85 A", "90 A"}));
  }
}

TEST_CASE("graphics work off their turn with requests that are not graphics") {
  // A and B draw, and each owes 4 us after its turn, of which the other's requests are nothing.
  Client a = looping("A", 4);
  a.blocking = false;
  a.frames_in_flight = 2;
  Client b = a;
  b.name = "B";
  Scenario scenario = in_turn({a, b, looping("C", 1)}, 24);
  scenario.device.access.whole_queue = false;
  CHECK(starts(play(scenario, "passthrough"), scenario) == Lines{"0 A", "4 B", "8 C", "9 C", "10 C", "11 C",
                                                                 "12 A", "16 B", "20 C", "21 C", "22 C",
                                                                 "23 C", "24 A"});
}

TEST_CASE("several channels of a client have a turn each") {
  Client a = looping("A", 10);
  a.kernels.push_back(kernel_of(4));
  a.kernels[1].channel = 1;
  a.channels = 2;
  a.blocking = false;
  const Scenario scenario = in_turn({a, looping("B", 20)}, 70);
  CHECK(starts(play(scenario, "passthrough"), scenario) ==
        Lines{"0 A", "10 A", "14 B", "34 A", "44 A", "48 B", "68 A"});
}

TEST_CASE("host work follows the submission") {
  Client a = looping("A", 10);
  a.kernels[0].host_work = Duration{15'000};
  const Scenario scenario = in_turn({a}, 40);
  const Played played = play(scenario, "passthrough");
  CHECK(starts(played, scenario) == Lines{"0 A", "15 A", "30 A"});
  CHECK(played.jobs[0].response() == Duration{15'000});
}

TEST_CASE("channels go to whoever comes first, and a client without them is out of resources") {
  Client hoarder = looping("A", 10);
  hoarder.channels = 8;
  Client b = looping("B", 10);
  b.arrive = Duration{1000};
  b.repeat = {3, std::nullopt, Duration{0}};
  Scenario scenario = in_turn({hoarder, b}, 50);
  scenario.device.access.channels = 8;
  Played played = play(scenario, "passthrough");
  CHECK(starts(played, scenario) == Lines{"0 A", "10 A", "20 A", "30 A", "40 A", "50 A"});
  CHECK(played.jobs.front().outcome == Outcome::out_of_resources);
  CHECK(played.jobs.front().id == JobId{ClientId{1}, 0});
  // With one more for B both run. B is through when C comes, and its channel free; C is next in the ring.
  scenario.device.access.channels = 9;
  scenario.clients.push_back(looping("C", 10));
  scenario.clients[2].arrive = Duration{60'000};
  scenario.horizon = Time{80'000};
  CHECK(starts(play(scenario, "passthrough"), scenario) ==
        Lines{"0 A", "10 B", "20 A", "30 B", "40 A", "50 B", "60 C", "70 A", "80 C"});
}

TEST_CASE("requests and gaps change after a submission that trapped") {
  Client a = looping("A", 10, 2);
  a.kernels[0].trapped_time = Duration{4000};
  a.kernels[0].trapped_gap = Duration{7000};
  Scenario scenario = in_turn({a}, 60);
  scenario.device.access.interception = Duration{1000};
  // The first is 10 long, behind 2; then each traps, so that the next is behind 7 and 4 long.
  CHECK(starts(play(scenario, "trap-per-request"), scenario) == Lines{"3 A", "21 A", "33 A", "45 A", "57 A"});
  CHECK(starts(play(scenario, "passthrough"), scenario) == Lines{"2 A", "14 A", "26 A", "38 A", "50 A"});
}

// NEON's policies, worked out by hand from sim/channels/README.md and models/policy/README.md. Times in us.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/sim/channels/access_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

TEST_CASE("timeslice: requests of 0.9 slices overrun, and are charged") {
  const Scenario scenario = in_turn({looping("A", 9), looping("B", 9)}, 100);
  // A's second request ends 8 after its slice, B's likewise; after 16 each is passed over once, in the same
  // instant, and keeps 6.
  const Lines expected{"0 A",  "9 A",  "18 B", "27 B", "36 A", "45 A",
                       "54 B", "63 B", "72 A", "81 A", "90 B", "99 B"};
  CHECK(starts(play(scenario, "{name: timeslice, params: {slice: 10 us}}"), scenario) == expected);
  CHECK(starts(play(scenario, "{name: disengaged-timeslice, params: {slice: 10 us}}"), scenario) == expected);
}

TEST_CASE("timeslice: an overuse of more than a slice costs a turn") {
  const Scenario scenario = in_turn({looping("A", 25), looping("B", 4)}, 100);
  // A: 0-25, 15 too long. B: 25-37, 2 too long. A is passed over and keeps 5, so B: 37-49. Then A.
  CHECK(starts(play(scenario, "{name: disengaged-timeslice, params: {slice: 10 us}}"), scenario, 74) ==
        Lines{"0 A", "25 B", "29 B", "33 B", "37 B", "41 B", "45 B", "49 A"});
  // At 74 A has 5 + 15; it is passed over once, and 10 left are no more than a slice.
  CHECK(starts(play(scenario, "{name: disengaged-timeslice, params: {slice: 10 us}}"), scenario).back() ==
        "98 A");
}

TEST_CASE("timeslice: interceptions cost the holder, and nobody when disengaged") {
  Scenario scenario = in_turn({looping("A", 10)}, 60);
  scenario.device.access.interception = Duration{2000};
  scenario.clients[0].trivial_requests = 0.5;  // 3 us in all
  CHECK(starts(play(scenario, "{name: timeslice, params: {slice: 1 ms}}"), scenario) ==
        Lines{"3 A", "16 A", "29 A", "42 A", "55 A"});
  CHECK(starts(play(scenario, "trap-per-request"), scenario) == Lines{"3 A", "16 A", "29 A", "42 A", "55 A"});
  CHECK(starts(play(scenario, "{name: disengaged-timeslice, params: {slice: 1 ms}}"), scenario) ==
        Lines{"0 A", "10 A", "20 A", "30 A", "40 A", "50 A", "60 A"});
  // A and B submit at the end of their slices, and what they submitted runs. A waiting submission traps once.
  scenario.clients.push_back(looping("B", 10));
  CHECK(starts(play(scenario, "{name: disengaged-timeslice, params: {slice: 20 us}}"), scenario) ==
        Lines{"0 A", "10 A", "20 A", "30 B", "40 B", "50 B", "60 A"});
}

TEST_CASE("timeslice: a slice of an idle client is lost, that of one that has ended is not") {
  Client a = looping("A", 10);
  a.repeat = {2, std::nullopt, Duration{0}};
  const Scenario scenario = in_turn({a, looping("B", 10), looping("C", 10, 1000)}, 150);
  CHECK(starts(play(scenario, "{name: disengaged-timeslice, params: {slice: 40 us}}"), scenario) ==
        Lines{"0 A", "10 A", "20 B", "30 B", "40 B", "50 B", "60 B", "110 B", "120 B", "130 B", "140 B",
              "150 B"});
}

TEST_CASE("timeslice: a client that is alone is not held back, unless it is watched") {
  // Requests of 15 in slices of 20. B comes at 50, in a slice that ends at 60, when A submits once more.
  const char* const free = "{name: disengaged-timeslice, params: {slice: 20 us}}";
  Scenario scenario = in_turn({looping("A", 15), looping("B", 10)}, 100);
  scenario.clients[1].arrive = Duration{50'000};
  const Played played = play(scenario, free);
  CHECK(starts(played, scenario, 76) == Lines{"0 A", "15 A", "30 A", "45 A", "60 A", "75 B"});
  Lines turns = accesses(played, scenario);
  turns.resize(5);
  CHECK(turns == Lines{"0 A deny", "0 A direct", "50 B deny", "60 A deny", "75 B direct"});
  scenario.clients.pop_back();
  CHECK(accesses(play(scenario, free), scenario) == Lines{"0 A deny", "0 A direct"});
  // What it submits at 15 ends at 30.
  turns = accesses(play(scenario, "{name: disengaged-timeslice, params: {slice: 20 us, alone: watched}}"),
                   scenario);
  turns.resize(4);
  CHECK(turns == Lines{"0 A deny", "0 A direct", "20 A deny", "30 A direct"});
}

TEST_CASE("stride-timeslice: the token goes to the least pass, which grows with time held over weight") {
  Scenario scenario = in_turn({looping("A", 10), looping("B", 10)}, 155);
  scenario.clients[0].weight = 2;
  // Each holds it for 30, as what is submitted at the end of a slice runs. A: 15; B: 30; A: 30, and as the
  // first once more: 45; B: 60; A.
  const char* const policy = "{name: stride-timeslice, params: {slice: 20 us}}";
  CHECK(starts(play(scenario, policy), scenario) == Lines{"0 A", "10 A", "20 A", "30 B", "40 B", "50 B",
                                                          "60 A", "70 A", "80 A", "90 A", "100 A", "110 A",
                                                          "120 B", "130 B", "140 B", "150 A"});
  scenario.horizon = Time{9'000'000};
  const auto used = usage(play(scenario, policy), scenario);
  CHECK(static_cast<double>(used[0]) / static_cast<double>(used[1]) == Approx(2).epsilon(0.02));
}

TEST_CASE("stride-timeslice: who comes late begins beside the others, and overuse is paid back") {
  // B comes at 1000, in a slice of A that ends at 1010, when A has held the token for 1010 less one slice
  // that is not charged yet. From then on A, whose requests are three times as long, gets as much time as B.
  Scenario scenario = in_turn({looping("A", 30), looping("B", 10)}, 10'000);
  scenario.clients[1].arrive = Duration{1'000'000};
  const Played played = play(scenario, "{name: stride-timeslice, params: {slice: 10 us}}");
  const Lines began = starts(played, scenario);
  CHECK(std::count_if(began.begin(), began.end(), [](const std::string& line) {
          return line.ends_with("A");
        }) == Approx(1000 / 30 + 9000 / 2 / 30).margin(2));
  const auto used = usage(played, scenario);
  CHECK(static_cast<double>(used[1]) == Approx(4'500'000).epsilon(0.02));
}

TEST_CASE("disengaged fair queueing: three engagements") {
  Scenario scenario = in_turn({looping("A", 10), looping("B", 30)}, 1500);
  const Played played = play(
      scenario, "{name: disengaged-fair-queueing, params: {sampling: 100 us, requests: 2, free_run: 2}}");
  // The first free run ends at 200, what is on the device at 240. Sampled: A 240-260, B 260-320. Of the 240
  // each is charged in proportion to 10 and 30, and for its sampling: A 60 + 20, B 180 + 60. 160 ahead is
  // less than the 400 to come, so both go on until 720. Drained at 760; A 110 + 20, B 330 + 60: 420 ahead,
  // so B is denied until A, alone, has had 400. At 1250 A has 640, B 630.
  CHECK(accesses(played, scenario) == Lines{"200 A deny",     "200 B deny",  "240 A sampled", "260 A deny",
                                            "260 B sampled",  "320 B deny",  "320 A direct",  "320 B direct",
                                            "720 A deny",     "720 B deny",  "760 A sampled", "780 A deny",
                                            "780 B sampled",  "840 B deny",  "840 A direct",  "1240 A deny",
                                            "1250 A sampled", "1270 A deny", "1270 A direct", "1270 B direct",
                                            "1470 A deny",    "1470 B deny"});
  const Lines began = starts(played, scenario, 361);
  CHECK(Lines(began.end() - 9, began.end()) ==
        Lines{"200 A", "210 B", "240 A", "250 A", "260 B", "290 B", "320 A", "330 B", "360 A"});
}

TEST_CASE("disengaged fair queueing: who was idle does not get back what it did not use") {
  // B submits once and comes back after 5 ms. The device was A's meanwhile; it is not A's fault.
  Client b = looping("B", 10);
  b.repeat = {std::nullopt, std::nullopt, Duration{0}};
  b.kernels.push_back(b.kernels[0]);
  b.kernels[1].gap = Duration{5'000'000};
  b.kernels.insert(b.kernels.end(), 200, b.kernels[0]);
  const Scenario scenario = in_turn({looping("A", 10), b}, 8000);
  const std::string policy =
      "{name: disengaged-fair-queueing, params: {sampling: 100 us, requests: 4, free_run: 2}}";
  const Played played = play(scenario, policy);
  // Free runs always begin with direct access for both: neither is ever ahead of the other by a free run.
  const Lines changes = accesses(played, scenario);
  CHECK(std::count_if(changes.begin(), changes.end(), [](const std::string& c) {
          return c.ends_with("A direct");
        }) == std::count_if(changes.begin(), changes.end(), [](const std::string& c) {
          return c.ends_with("B direct");
        }));
  std::int64_t late =
      0;  // of A's requests after B is back, by the time at which every other one must have begun
  for (const std::string& line : starts(played, scenario))
    if (line.ends_with(" A") && std::stoll(line) >= 5010 && std::stoll(line) < 7000) ++late;
  CHECK(late > 85);  // of 199 / 2, less drains and samplings
}

TEST_CASE("disengaged fair queueing: one that asks for little does not hold the others back") {
  // B uses a tenth of the time. Without forwarding, A is denied until B has caught up, which it never does.
  const Scenario scenario = in_turn({looping("A", 10), looping("B", 10, 90)}, 100'000);
  const auto usage_of = [&](const std::string& forward) {
    return usage(
        play(scenario, "{name: disengaged-fair-queueing, params: {sampling: 500 us, requests: 8, forward: " +
                           forward + "}}"),
        scenario);
  };
  const auto forwarded = usage_of("low-demand");
  CHECK(forwarded[0] > 75'000'000);
  CHECK(forwarded[1] > 8'000'000);
  const auto held = usage_of("idle");
  CHECK(held[0] < 60'000'000);
}

TEST_CASE("disengaged fair queueing: who comes while others drain has not been waiting") {
  // The first free run ends at 200, while A's second request, 160-310, is on the device. B, whose only one
  // was 150-160, comes again at 250. It did not ask for more than it got until 200, so A is not denied.
  const Scenario scenario = in_turn({looping("A", 150), looping("B", 10, 90)}, 500);
  const Played played =
      play(scenario,
           "{name: disengaged-fair-queueing, params: {sampling: 100 us, free_run: 1, statistics: vendor}}");
  CHECK(accesses(played, scenario) == Lines{"200 A deny", "200 B deny", "310 A direct", "310 B direct"});
}

TEST_CASE("disengaged fair queueing: a client that is alone is not sampled, and pays nothing for it") {
  // Free runs of 100 at first. B comes at 250, and the free run that ends at 300 is the first that A pays
  // for.
  Scenario scenario = in_turn({looping("A", 10), looping("B", 10)}, 1000);
  scenario.clients[1].arrive = Duration{250'000};
  for (const char* statistics : {"sampled", "vendor"}) {
    CAPTURE(statistics);
    const std::string params = std::string("sampling: 20 us, statistics: ") + statistics;
    const Played played = play(scenario, "{name: disengaged-fair-queueing, params: {" + params + "}}");
    const Lines began = starts(played, scenario);
    // Back to back until B comes.
    for (std::size_t k = 0; k < 25; ++k) CHECK(began[k] == std::to_string(10 * k) + " A");
    const auto used = usage(played, scenario);
    CHECK(used[1] > 250'000);  // a third of what is left at the least: nothing of A's first 250 is held
    CHECK(used[0] > 500'000);  // against B
    // It may go on at once after the engagement in which it is first charged.
    const Lines turns = accesses(played, scenario);
    const auto engaged = std::find(turns.begin(), turns.end(), "300 A deny");
    const auto next =
        std::find_if(engaged, turns.end(), [](const std::string& line) { return line.ends_with(" direct"); });
    REQUIRE(next != turns.end());
    CHECK(next->ends_with("A direct"));
  }
  scenario.clients.pop_back();
  const Lines watched =
      starts(play(scenario, "{name: disengaged-fair-queueing, params: {sampling: 20 us, alone: watched}}"),
             scenario);
  const Lines free =
      starts(play(scenario, "{name: disengaged-fair-queueing, params: {sampling: 20 us}}"), scenario);
  CHECK(free.size() >= watched.size());
}

TEST_CASE("disengaged fair queueing: where nobody waits nobody is denied") {
  // Both use less than half of the device, and A more than B.
  const Scenario scenario = in_turn({looping("A", 40, 60), looping("B", 10, 90)}, 100'000);
  const Played played =
      play(scenario, "{name: disengaged-fair-queueing, params: {sampling: 500 us, requests: 4}}");
  const auto used = usage(played, scenario);
  CHECK(used[0] > 30'000'000);
  for (const std::string& change : accesses(played, scenario))
    if (change.ends_with(" A direct")) {
      const std::string when = change.substr(0, change.find(' '));
      const Lines all = accesses(played, scenario);
      CHECK(std::find(all.begin(), all.end(), when + " B direct") != all.end());
    }
}

TEST_CASE("a request that never ends costs its client its life, and the others go on") {
  Client a = looping("A", 10);
  a.kernels[0].never_ends = 3;
  for (const std::string policy : {"timeslice", "disengaged-timeslice"}) {
    // The slice ends at 40 or later, in the fourth request, which began at 30; the order to drain is at 40.
    const Scenario scenario = in_turn({a, looping("B", 10)}, 200);
    const Played played = play(scenario, "{name: " + policy + ", params: {slice: 40 us, limit: 100 us}}");
    INFO(policy);
    CHECK(starts(played, scenario) == Lines{"0 A", "10 A", "20 A", "30 A", "140001ns B", "150001ns B",
                                            "160001ns B", "170001ns B", "180001ns B", "190001ns B"});
    const auto killed = std::count_if(played.jobs.begin(), played.jobs.end(),
                                      [](const JobResult& job) { return job.outcome == Outcome::killed; });
    CHECK(killed == 1);
    CHECK(played.totals.executing == Duration{200'000});  // all the time, until the horizon
  }
  const Scenario scenario = in_turn({a, looping("B", 10)}, 20'000);
  const Played played =
      play(scenario, "{name: disengaged-fair-queueing, params: {sampling: 100 us, limit: 100 us}}");
  CHECK(usage(played, scenario)[1] > 18'000'000);
  const Played unprotected = play(scenario, "passthrough");
  CHECK(usage(unprotected, scenario)[1] < 100'000);
  // Nothing happens any more from there to the horizon, and all wait until then.
  CHECK(unprotected.totals.end == scenario.horizon);
  for (const JobResult& job : unprotected.jobs)
    CHECK((job.outcome == Outcome::finished || job.over == scenario.horizon));
}

TEST_CASE("without a horizon, a run in which a job cannot end fails") {
  using Catch::Matchers::ContainsSubstring;
  Client a = looping("A", 10), b = looping("B", 10);
  a.repeat.jobs = b.repeat.jobs = 6;
  a.kernels[0].never_ends = 3;
  Scenario scenario = in_turn({b, a}, 0);
  scenario.horizon = Time::max();
  // B waits as well, but for A.
  CHECK_THROWS_WITH(play(scenario, "passthrough"), ContainsSubstring("client A: job 3 never ends") &&
                                                       ContainsSubstring("needs a `horizon`") &&
                                                       !ContainsSubstring("\n"));
  // Who is killed is over.
  const Played played = play(scenario, "{name: timeslice, params: {slice: 40 us, limit: 100 us}}");
  CHECK(played.totals.finished == 9);
  CHECK(played.totals.unfinished == 1);
  CHECK(played.totals.end < Time{1'000'000});
}

TEST_CASE("at most C channels for a client, and D / C clients") {
  Client hoarder = looping("A", 10);
  hoarder.channels = 8;
  Client b = looping("B", 10), c = looping("C", 10);
  c.arrive = Duration{5000};
  Scenario scenario = in_turn({hoarder, b, c}, 1000);
  scenario.device.access.channels = 9;
  // Of nine channels four clients can have two each; all three are let in.
  Played played = play(scenario, "{name: disengaged-timeslice, params: {slice: 30 us, channels: 2}}");
  for (const std::int64_t used : usage(played, scenario)) CHECK(used > 300'000);
  // Two clients can have four each; C is out of resources, though three channels are free.
  played = play(scenario, "{name: disengaged-timeslice, params: {slice: 30 us, channels: 4}}");
  CHECK(usage(played, scenario)[1] > 400'000);
  CHECK(usage(played, scenario)[2] == 0);
  CHECK(played.jobs.front().outcome == Outcome::out_of_resources);
  // A client whose kernels use more than it gets cannot run.
  scenario.clients[1].kernels.push_back(scenario.clients[1].kernels[0]);
  scenario.clients[1].kernels[1].channel = 2;
  scenario.clients[1].channels = 3;
  played = play(scenario, "{name: disengaged-timeslice, params: {slice: 30 us, channels: 2}}");
  CHECK(usage(played, scenario)[1] == 0);
  CHECK(usage(played, scenario)[2] > 400'000);
}

TEST_CASE("a request that a policy would kill is not accepted as normal") {
  const auto refusal = [](const std::string& policy, const Kernel& kernel, std::int64_t channels) {
    const ChosenPolicy chosen = policy_from(policy);
    Device device = small_device();
    device.access.channels = channels;
    return chosen.entry->make(chosen.values)->refusal(kernel, device);
  };
  Kernel kernel = looping("A", 2000).kernels[0];
  CHECK(refusal("{name: timeslice, params: {limit: 1 ms}}", kernel, 9)->found == "a request of 2 ms");
  CHECK_FALSE(refusal("{name: timeslice, params: {limit: 2 ms}}", kernel, 9));
  kernel.never_ends = 0;
  CHECK_FALSE(refusal("{name: timeslice, params: {limit: 1 ms}}", kernel, 9));
  CHECK(refusal("{name: trap-per-request, params: {channels: 10}}", kernel, 9)->found ==
        "10 channels for each client");
  CHECK_FALSE(refusal("{name: trap-per-request, params: {channels: 9}}", kernel, 9));
}

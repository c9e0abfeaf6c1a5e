// Who keeps the GPU between two kernels of a job: schedules worked out by hand from models/policy/README.md,
// "Between two kernels of a job". Times in ns, on the device of test_schedules.cpp: a launch takes 10, a flag
// is seen after 2, a drain lasts 6 of which 3 are useful, and the report follows the last block by 5.
#include <algorithm>
#include <map>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "tests/sim/random_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

Client with_priority(Client client, std::int32_t priority) {
  client.priority = priority;
  return client;
}

// Two kernels of 20, the second behind a gap. Alone its first is known to be complete at 35.
Client pair(std::int64_t gap, std::int32_t priority = 0) {
  Client client = with_priority(testing::client("A", 0, 20), priority);
  client.kernels.push_back(client.kernels[0]);
  client.kernels[1].gap = Duration{gap};
  return client;
}

const Lines kFirstKernel{"0 A launch", "10 A start", "30 A gone 20", "35 A completed"};

Lines then(Lines rest) {
  rest.insert(rest.begin(), kFirstKernel.begin(), kFirstKernel.end());
  return rest;
}

Lines head(const Lines& lines, std::size_t count) {
  return {lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(count, lines.size()))};
}

std::string policy(const std::string& name, const std::string& params) {
  return "{name: " + name + ", params: {" + params + "}}";
}

}  // namespace

TEST_CASE("a gap of 3 ns costs a launch and an eviction, unless the owner lingers") {
  const Scenario scenario{{pair(3, 1), client("B", 0, 100)}};
  // At 35 B is launched, at 38 A is eligible: B's blocks start at 45, see the flag and leave.
  CHECK(head(play(scenario, "piv").lines, 9) ==
        then({"35 B launch", "38 B evict", "45 B start", "45 B gone 0", "50 B evicted"}));
  CHECK(play(scenario, policy("piv", "linger: 5 ns")).lines ==
        then({"38 A launch", "48 A start", "68 A gone 20", "73 A completed", "73 A finished", "73 B launch",
              "83 B start", "183 B gone 100", "188 B completed", "188 B finished"}));
}

TEST_CASE("a kernel that is eligible at the instant in which the linger ends is in time") {
  const Scenario scenario{{pair(3, 1), client("B", 0, 100)}};
  CHECK(play(scenario, policy("piv", "linger: 3 ns")).lines[4] == "38 A launch");
  const Played late = play(scenario, policy("piv", "linger: 2 ns"));
  CHECK(head(late.lines, 6) == then({"37 B launch", "38 B evict"}));
}

TEST_CASE("whoever would evict the owner takes the GPU from one that lingers, without an eviction") {
  const Client b = with_priority(client("B", 36, 50), 2);
  SECTION("while it is away") {
    const Played played = play({{pair(3, 1), b}}, policy("piv", "linger: 5 ns"));
    CHECK(head(played.lines, 7) == then({"36 B launch", "46 B start", "96 B gone 50"}));
    CHECK(played.lines[9] == "101 A launch");
    CHECK(played.totals.evictions == 0);
  }
  SECTION("at the instant in which it comes back") {
    CHECK(play({{pair(1, 1), b}}, policy("piv", "linger: 5 ns")).lines[4] == "36 B launch");
  }
  SECTION("not one that is as urgent") {
    CHECK(play({{pair(3, 2), b}}, policy("piv", "linger: 5 ns")).lines[4] == "38 A launch");
  }
  SECTION("it is the next kernel's priority that counts") {
    Client a = pair(3, 2);
    a.kernels[1].priority = 1;
    CHECK(play({{a, b}}, policy("piv", "linger: 5 ns")).lines[4] == "36 B launch");
  }
}

TEST_CASE("sjf and srt: a lingering owner is displaced as a running one is") {
  const Client shorter = client("B", 36, 39), equal = client("C", 36, 40);
  CHECK(play({{pair(3), shorter}}, policy("sjf", "linger: 5 ns")).lines[4] == "36 B launch");
  CHECK(play({{pair(3), equal}}, policy("sjf", "linger: 5 ns")).lines[4] == "38 A launch");
  // 20 are left of A, and stay so while it lingers.
  CHECK(play({{pair(30), client("B", 60, 19)}}, policy("srt", "linger: 50 ns")).lines[4] == "60 B launch");
  CHECK(play({{pair(30), client("B", 60, 20)}}, policy("srt", "linger: 50 ns")).lines[4] == "65 A launch");
}

TEST_CASE("fcfs: nobody takes the GPU from a job that lingers") {
  CHECK(play({{pair(3), client("B", 1, 5)}}, "fcfs").lines[4] == "35 B launch");
  CHECK(play({{pair(3), client("B", 1, 5)}}, policy("fcfs", "linger: 5 ns")).lines[4] == "38 A launch");
}

TEST_CASE("who has no kernel left does not linger") {
  Client a = client("A", 0, 20);
  a.repeat = {2, std::nullopt, Duration{1}};  // its next job arrives 1 ns later
  CHECK(play({{a, client("B", 1, 50)}}, policy("fcfs", "linger: 1 us")).lines[5] == "35 B launch");
}

TEST_CASE("host work that lasts longer than the kernel is a gap like any other") {
  Client a = pair(0, 1);
  a.kernels[0].host_work = Duration{40};
  const Scenario scenario{{a, client("B", 0, 100)}};
  CHECK(play(scenario, "piv").lines[4] == "35 B launch");
  CHECK(play(scenario, policy("piv", "linger: 5 ns")).lines[4] == "40 A launch");
}

TEST_CASE("with a linger the quantum is the job's, and runs on between its kernels") {
  const auto rr = [](std::vector<Client> clients, const std::string& params) {
    return in_hundreds(play(hundreds(std::move(clients)), policy("rr", params)));
  };
  const Client b = client("B", 0, 100);
  SECTION("without one, every end of a kernel is the end of a turn") {
    CHECK(rr({pair(0), b}, "quantum: 10 us")[4] == "35 B launch");
    CHECK(rr({pair(3), b}, "quantum: 10 us")[4] == "35 B launch");
  }
  SECTION("with one, the next kernel goes on with the rest of the quantum, gap or not") {
    // Until 50. Behind a gap of 3: A starts at 48, the flag is seen at 52, 4 + 3 are done.
    CHECK(rr({pair(3), b}, "quantum: 4 us, linger: 500 ns") ==
          then({"38 A launch",  "48 A start",  "50 A evict",    "58 A gone 7",     "63 A evicted",
                "63 B launch",  "73 B start",  "113 B evict",   "121 B gone 45",   "126 B evicted",
                "126 A launch", "136 A start", "149 A gone 13", "154 A completed", "154 A finished",
                "154 B launch", "164 B start", "219 B gone 55", "224 B completed", "224 B finished"}));
    CHECK(head(rr({pair(0), b}, "quantum: 4 us, linger: 500 ns"), 8) ==
          then({"35 A launch", "45 A start", "50 A evict", "58 A gone 10"}));
  }
  SECTION("it may be over while the next kernel is being launched") {
    CHECK(head(rr({pair(3), b}, "quantum: 3 us, linger: 500 ns"), 9) ==
          then({"38 A launch", "40 A evict", "48 A start", "48 A gone 0", "53 A evicted"}));
  }
  SECTION("it may be over while the owner lingers") {
    CHECK(rr({pair(3), b}, "quantum: 2700 ns, linger: 500 ns")[4] == "37 B launch");
    // At the instant in which A comes back: B has waited longer.
    CHECK(rr({pair(3), b}, "quantum: 2800 ns, linger: 500 ns")[4] == "38 B launch");
  }
  SECTION("it is renewed when nobody waits") {
    CHECK(rr({pair(5), client("B", 38, 100)}, "quantum: 2700 ns, linger: 500 ns")[4] == "40 A launch");
  }
}

TEST_CASE("cfs: who lingers does not wait") {
  // The epoch of 40 is shared by two: A's quantum is over at 30 as its kernel ends, so that B is launched at
  // 35; with one of 60 it is over at 40, while A's second kernel is being launched.
  const auto cfs = [](const std::string& epoch) {
    return in_hundreds(play(hundreds({pair(3), client("B", 0, 100)}),
                            policy("cfs", "order: cumulative, linger: 500 ns, epoch: " + epoch)));
  };
  CHECK(cfs("5800 ns")[5] == "39 A evict");
  CHECK(cfs("5600 ns")[4] == "38 B launch");
  CHECK(cfs("5400 ns")[4] == "37 B launch");
}

TEST_CASE("pkm: a job lingers between kernels, not between slices") {
  Client a = pair(3, 1);
  for (Kernel& kernel : a.kernels) {
    kernel.block_tasks = {32};  // two waves of 10
    kernel.block = {512, 1, 1};
  }
  Client b = client("B", 0, 10), c = with_priority(client("C", 24, 10), 2);
  b.kernels[0].block = c.kernels[0].block = {512, 1, 1};
  b.kernels[0].block_tasks = c.kernels[0].block_tasks = {16};
  const auto lines = [&](std::vector<Client> clients, const std::string& linger) {
    Scenario scenario{std::move(clients)};
    scenario.mechanism = "slice";
    return play(scenario, policy("pkm", "slice: block-tasks, block_tasks: 16, linger: " + linger)).lines;
  };
  // Slices of A: 10-20, known at 21, 31-41, known at 42. Its host is back at 45.
  CHECK(lines({a, b}, "0 ns")[8] == "42 B launch");
  CHECK(lines({a, b}, "5 ns")[8] == "45 A launch");
  CHECK(lines({a, b, c}, "5 ns")[8] == "42 C launch");
}

TEST_CASE("with a linger as long as every gap nobody gets ahead of a more urgent job between two kernels",
          "[long]") {
  for (const int i : case_numbers(300, 30'000)) {
    Scenario scenario = random_scenario(static_cast<std::uint64_t>(i));
    for (std::size_t c = 0; c < scenario.clients.size(); ++c)
      for (std::size_t k = 1; k < scenario.clients[c].kernels.size(); ++k)
        scenario.clients[c].kernels[k].gap = Duration{static_cast<std::int64_t>((c + 3 * k) % 5) * 500};
    INFO("scenario " << i);
    std::map<std::uint32_t, bool> between;  // by client
    const Played played = play(scenario, policy("piv", "linger: 2 us"));
    for (const Record& r : played.records) {
      const std::uint32_t client = r.job.client.index;
      if (r.mark == Mark::left)
        between[client] = r.why == Why::completed && r.kernel + 1 < scenario.clients[client].kernels.size();
      if (r.mark != Mark::launch_ordered) continue;
      between[client] = false;
      for (const auto& [other, is_between] : between)
        if (is_between) REQUIRE(scenario.clients[other].priority < scenario.clients[client].priority);
      between.clear();  // a more urgent job ends the lingering; behind it anybody may come first
    }
  }
}

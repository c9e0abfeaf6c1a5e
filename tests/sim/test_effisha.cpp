// The policies of the EffiSha paper, worked out by hand; times as in test_schedules.cpp.
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

Client client_of(const std::string& name, std::int32_t priority, std::int64_t arrive, std::int64_t time) {
  Client c = client(name, arrive, time);
  c.priority = priority;
  return c;
}

}  // namespace

TEST_CASE("piv: a preempted kernel keeps its place among those of its priority") {
  // C evicts A at 50: seen at 52, 42 + 3 done. B came after A, but before A was evicted.
  const Scenario scenario{{client_of("A", 1, 0, 100), client_of("B", 1, 10, 30), client_of("C", 5, 50, 20)}};
  const Lines start{"0 A launch",  "10 A start", "50 A evict",   "58 A gone 45",   "63 A evicted",
                    "63 C launch", "73 C start", "93 C gone 20", "98 C completed", "98 C finished"};
  const auto then = [&](Lines rest) {
    Lines all = start;
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  CHECK(play(scenario, "piv").lines ==
        then({"98 A launch", "108 A start", "163 A gone 55", "168 A completed", "168 A finished",
              "168 B launch", "178 B start", "208 B gone 30", "213 B completed", "213 B finished"}));
  CHECK(play(scenario, "{name: piv, params: {evicted: tail}}").lines ==
        then({"98 B launch", "108 B start", "138 B gone 30", "143 B completed", "143 B finished",
              "143 A launch", "153 A start", "208 A gone 55", "213 A completed", "213 A finished"}));
}

TEST_CASE("piv: an arrival of the owner's priority waits") {
  CHECK(play({{client_of("A", 3, 0, 100), client_of("B", 3, 20, 10)}}, "piv").totals.evictions == 0);
  CHECK(play({{client_of("A", 3, 0, 100), client_of("B", 4, 20, 10)}}, "piv").totals.evictions == 1);
}

TEST_CASE("a kernel inherits its client's priority, and only a privileged client's may be higher") {
  Client b = client_of("B", 1, 20, 10);
  const auto evictions = [&](std::optional<std::int32_t> own, bool privileged) {
    b.kernels[0].priority = own;
    b.privileged = privileged;
    return play({{client_of("A", 1, 0, 100), b}}, "piv").totals.evictions;
  };
  CHECK(evictions(std::nullopt, false) == 0);
  CHECK(evictions(2, false) == 0);  // ignored (EffiSha, 6.4)
  CHECK(evictions(2, true) == 1);
  CHECK(evictions(0, false) == 0);
  CHECK(static_priority(b, b.kernels[0]) == 0);
}

TEST_CASE("dprr: a quota by priority, then the inactive queue until the other is empty") {
  // A has (1 + 1) * 10, B (3 + 1) * 10. An arrival does not preempt. At 136 A's quota is over, but it is done
  // before the drain ends.
  const Scenario scenario = hundreds({client_of("A", 1, 0, 50), client_of("B", 3, 5, 50)});
  CHECK(in_hundreds(play(scenario, "{name: dprr, params: {quota: 1 us}}")) ==
        Lines{"0 A launch",     "10 A start",   "30 A evict",  "38 A gone 25",  "43 A evicted",
              "43 B launch",    "53 B start",   "93 B evict",  "101 B gone 45", "106 B evicted",
              "106 A launch",   "116 A start",  "136 A evict", "141 A gone 25", "146 A completed",
              "146 A finished", "146 B launch", "156 B start", "161 B gone 5",  "166 B completed",
              "166 B finished"});
}

TEST_CASE("dprr: waiting raises a priority, up to a cap") {
  // A's quota is 30. At 53 B has waited 48 and C 13.
  const Scenario scenario =
      hundreds({client_of("A", 0, 0, 100), client_of("B", 0, 5, 10), client_of("C", 3, 40, 10)});
  const auto second = [&](const std::string& aging) {
    return in_hundreds(play(scenario, "{name: dprr, params: {quota: 3 us, " + aging + "}}"))[5];
  };
  CHECK(second("aging: 1 us") == "53 B launch");                   // 0 + 4 against 3 + 1: who came first
  CHECK(second("aging: 1 us, most_aged: 3") == "53 C launch");     // 0 + 3 against 3 + 1
  CHECK(second("aging: 1300 ns") == "53 C launch");                // 0 + 3 against 3 + 1
  CHECK(second("aging: 1300 ns, most_aged: 0") == "53 C launch");  // 0 against 3
}

TEST_CASE("dprr: the queues change places when the active one is empty") {
  // All of priority 0 with 10 each; D arrives while C, the last of the first round, owns the GPU. If the
  // queues changed at 66, D finds A and B in the active queue; if not, it is alone there when C leaves.
  const Scenario scenario = hundreds({client_of("A", 0, 0, 50), client_of("B", 0, 0, 50),
                                      client_of("C", 0, 0, 50), client_of("D", 0, 75, 50)});
  // Each launch: 10 to start, 10 quota, 8 until gone, 5 until reported: 33 in all.
  const auto launches = [&](const std::string& swap) {
    Lines found;
    for (const std::string& line :
         in_hundreds(play(scenario, "{name: dprr, params: {quota: 1 us, swap: " + swap + "}}")))
      if (line.find("launch") != std::string::npos && found.size() < 5) found.push_back(line);
    return found;
  };
  CHECK(launches("when-empty") ==
        Lines{"0 A launch", "33 B launch", "66 C launch", "99 A launch", "132 B launch"});
  CHECK(launches("when-needed") ==
        Lines{"0 A launch", "33 B launch", "66 C launch", "99 D launch", "132 A launch"});
}

TEST_CASE("dprr: arrivals that join the inactive queue wait for the round to end") {
  const Scenario scenario =
      hundreds({client_of("A", 0, 0, 100), client_of("B", 0, 0, 100), client_of("C", 5, 20, 10)});
  const auto second = [&](const std::string& arrivals) {
    return in_hundreds(play(scenario, "{name: dprr, params: {quota: 2 us, arrivals: " + arrivals + "}}"))[5];
  };
  CHECK(second("active") == "43 C launch");
  CHECK(second("inactive") == "43 B launch");
}

TEST_CASE("dprr: an arrival that preempts leaves the owner the rest of its quota") {
  // A has 40. B displaces it at 20; it is reported at 33, so 23 are used. From 78 on it has 17.
  const Scenario scenario =
      hundreds({client_of("A", 1, 0, 100), client_of("B", 3, 20, 20), client_of("C", 0, 80, 10)});
  CHECK(in_hundreds(play(scenario, "{name: dprr, params: {quota: 2 us, arrival_preempts: yes}}")) ==
        Lines{"0 A launch",   "10 A start",  "20 A evict",    "28 A gone 15",    "33 A evicted",
              "33 B launch",  "43 B start",  "63 B gone 20",  "68 B completed",  "68 B finished",
              "68 A launch",  "78 A start",  "95 A evict",    "103 A gone 22",   "108 A evicted",
              "108 C launch", "118 C start", "128 C gone 10", "133 C completed", "133 C finished",
              "133 A launch", "143 A start", "206 A gone 63", "211 A completed", "211 A finished"});
}

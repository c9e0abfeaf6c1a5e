// Schedules worked out by hand from sim/README.md and models/policy/README.md. Times in ns. On the small
// device a launch takes 10, a flag is seen after 2, a drain lasts 6 of which 3 are useful, and the report
// follows the last block by 5; so an eviction ordered at t after a start at s ends at t + 8 with (t + 2 - s)
// + 3 done.
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

TEST_CASE("fcfs: of two that arrive together the first in the file runs first") {
  CHECK(play({{client("A", 0, 100), client("B", 0, 50)}}, "fcfs").lines ==
        Lines{"0 A launch", "10 A start", "110 A gone 100", "115 A completed", "115 A finished",
              "115 B launch", "125 B start", "175 B gone 50", "180 B completed", "180 B finished"});
}

TEST_CASE("fcfs: an application keeps its place from kernel to kernel") {
  Client a = client("A", 0, 20);
  a.kernels.push_back(a.kernels[0]);
  CHECK(play({{a, client("B", 1, 50)}}, "fcfs").lines ==
        Lines{"0 A launch", "10 A start", "30 A gone 20", "35 A completed", "35 A launch", "45 A start",
              "65 A gone 20", "70 A completed", "70 A finished", "70 B launch", "80 B start", "130 B gone 50",
              "135 B completed", "135 B finished"});
}

TEST_CASE("sjf: a shorter arrival evicts, equal ones keep their order of arrival") {
  // At 20 B (40) is shorter than A (100). A has run since 10, so 12 + 3 are done. C equals B and came later.
  CHECK(play({{client("A", 0, 100), client("B", 20, 40), client("C", 30, 40)}}, "sjf").lines ==
        Lines{"0 A launch",   "10 A start",  "20 A evict",    "28 A gone 15",    "33 A evicted",
              "33 B launch",  "43 B start",  "83 B gone 40",  "88 B completed",  "88 B finished",
              "88 C launch",  "98 C start",  "138 C gone 40", "143 C completed", "143 C finished",
              "143 A launch", "153 A start", "238 A gone 85", "243 A completed", "243 A finished"});
}

TEST_CASE("sjf: what is left does not matter, only the whole") {
  // At 90 A has 20 left, but its whole is 100 > 40.
  CHECK(play({{client("A", 0, 100), client("B", 90, 40)}}, "sjf").lines[2] == "90 A evict");
}

TEST_CASE("sjf: the time of an application is that of all its kernels") {
  Client a = client("A", 0, 30);
  a.kernels.push_back(a.kernels[0]);  // 60 in all
  CHECK(play({{a, client("B", 5, 50)}}, "sjf").lines[1] == "5 A evict");
  CHECK(play({{a, client("B", 15, 60)}}, "sjf").totals.evictions == 0);
}

TEST_CASE("srt: an arrival with less left evicts") {
  // At 50 A has run 40, 60 are left, B has 20: out at 58 with 42 + 3 done.
  CHECK(play({{client("A", 0, 100), client("B", 50, 20)}}, "srt").lines ==
        Lines{"0 A launch", "10 A start", "50 A evict", "58 A gone 45", "63 A evicted", "63 B launch",
              "73 B start", "93 B gone 20", "98 B completed", "98 B finished", "98 A launch", "108 A start",
              "163 A gone 55", "168 A completed", "168 A finished"});
}

TEST_CASE("srt: fresh remaining time spares a kernel that is nearly done, stale does not") {
  const Scenario scenario{{client("A", 0, 100), client("B", 90, 40)}};  // at 90 A has 20 left
  CHECK(play(scenario, "srt").totals.evictions == 0);
  CHECK(play(scenario, "{name: srt, params: {remaining: stale}}").lines[2] == "90 A evict");
}

TEST_CASE("srt: who arrives during the drain takes part in the choice that follows") {
  CHECK(play({{client("A", 0, 100), client("B", 50, 20), client("C", 55, 10)}}, "srt").lines ==
        Lines{"0 A launch",   "10 A start",  "50 A evict",    "58 A gone 45",    "63 A evicted",
              "63 C launch",  "73 C start",  "83 C gone 10",  "88 C completed",  "88 C finished",
              "88 B launch",  "98 B start",  "118 B gone 20", "123 B completed", "123 B finished",
              "123 A launch", "133 A start", "188 A gone 55", "193 A completed", "193 A finished"});
}

TEST_CASE("srt: an eviction ordered before the first block runs loses nothing but time") {
  // Ordered at 3, seen at 5, before the start at 10: the blocks start, see the flag and leave.
  CHECK(play({{client("A", 0, 100), client("B", 3, 20)}}, "srt").lines ==
        Lines{"0 A launch", "3 A evict", "10 A start", "10 A gone 0", "15 A evicted", "15 B launch",
              "25 B start", "45 B gone 20", "50 B completed", "50 B finished", "50 A launch", "60 A start",
              "160 A gone 100", "165 A completed", "165 A finished"});
}

TEST_CASE("rr: alone, a kernel gets one quantum after the other") {
  const Played played = play({{client("A", 0, 100)}}, "{name: rr, params: {quantum: 1 us}}");
  CHECK(played.lines ==
        Lines{"0 A launch", "10 A start", "110 A gone 100", "115 A completed", "115 A finished"});
}

TEST_CASE("rr: the quantum counts from the first block, the evicted goes to the end of the queue") {
  // C arrives at 53, the instant A is reported: who left the GPU enters the queue first.
  CHECK(in_hundreds(play(hundreds({client("A", 0, 100), client("B", 0, 20), client("C", 53, 10)}),
                         "{name: rr, params: {quantum: 3 us}}")) ==
        Lines{"0 A launch",   "10 A start",  "40 A evict",    "48 A gone 35",    "53 A evicted",
              "53 B launch",  "63 B start",  "83 B gone 20",  "88 B completed",  "88 B finished",
              "88 A launch",  "98 A start",  "128 A evict",   "136 A gone 35",   "141 A evicted",
              "141 C launch", "151 C start", "161 C gone 10", "166 C completed", "166 C finished",
              "166 A launch", "176 A start", "206 A gone 30", "211 A completed", "211 A finished"});
}

TEST_CASE("rr: a quantum that expires as the kernel ends evicts nobody") {
  const Played played =
      play(hundreds({client("A", 0, 50), client("B", 0, 50)}), "{name: rr, params: {quantum: 5 us}}");
  CHECK(in_hundreds(played) == Lines{"0 A launch", "10 A start", "60 A gone 50", "65 A completed",
                                     "65 A finished", "65 B launch", "75 B start", "125 B gone 50",
                                     "130 B completed", "130 B finished"});
  CHECK(played.totals.evictions == 0);
}

TEST_CASE("rr: an eviction ordered as the kernel finishes") {
  SECTION("everything is done before the drain ends: it completes at its own time") {
    // Ordered at 58, seen at 60, useful work until 63; the kernel ends at 60.
    const Played played =
        play(hundreds({client("A", 0, 50), client("B", 0, 50)}), "{name: rr, params: {quantum: 4800 ns}}");
    const Lines lines = in_hundreds(played);
    CHECK(Lines(lines.begin(), lines.begin() + 5) ==
          Lines{"0 A launch", "10 A start", "58 A evict", "60 A gone 50", "65 A completed"});
    CHECK(played.totals.evictions == 0);
  }
  SECTION("one block-task is not: it leaves no later than it would have ended") {
    // Ordered at 54, seen at 56: 46 + 3 done; the drain would end at 62, the kernel at 60.
    const Lines lines = in_hundreds(
        play(hundreds({client("A", 0, 50), client("B", 0, 50)}), "{name: rr, params: {quantum: 4400 ns}}"));
    CHECK(Lines(lines.begin(), lines.begin() + 5) ==
          Lines{"0 A launch", "10 A start", "54 A evict", "60 A gone 49", "65 A evicted"});
  }
}

TEST_CASE("rr: a job that arrives as the last one completes is launched at once") {
  CHECK(play({{client("A", 0, 100), client("B", 115, 50)}}, "rr").lines[4] == "115 A finished");
  CHECK(play({{client("A", 0, 100), client("B", 115, 50)}}, "rr").lines[5] == "115 B launch");
}

TEST_CASE("cfs: rounds serve in the order of the present wait, cumulative by all waits") {
  const Scenario scenario = hundreds({client("A", 0, 50), client("B", 0, 50), client("C", 60, 10)});
  // Round 1 (A, B), 30 each: A runs 10-40, out at 48 with 35 done, reported at 53; B 63-93, out at 101,
  // reported at 106.
  const Lines start{"0 A launch",   "10 A start",  "40 A evict",    "48 A gone 35",    "53 A evicted",
                    "53 B launch",  "63 B start",  "93 B evict",    "101 B gone 35",   "106 B evicted",
                    "106 A launch", "116 A start", "131 A gone 15", "136 A completed", "136 A finished"};
  SECTION("rounds: A waits since 53, C since 60, B since 106") {
    Lines all = start;
    for (const char* line :
         {"136 C launch", "146 C start", "156 C gone 10", "161 C completed", "161 C finished", "161 B launch",
          "171 B start", "186 B gone 15", "191 B completed", "191 B finished"})
      all.emplace_back(line);
    CHECK(in_hundreds(play(scenario, "{name: cfs, params: {epoch: 6 us}}")) == all);
  }
  SECTION("cumulative: at 136 B has waited 53 + 30, C 76") {
    Lines all = start;
    for (const char* line :
         {"136 B launch", "146 B start", "161 B gone 15", "166 B completed", "166 B finished", "166 C launch",
          "176 C start", "186 C gone 10", "191 C completed", "191 C finished"})
      all.emplace_back(line);
    CHECK(in_hundreds(play(scenario, "{name: cfs, params: {epoch: 6 us, order: cumulative}}")) == all);
  }
}

TEST_CASE("frs: greatest slowdown first, for as long as equation 2 says") {
  // A alone gets the minimum quantum, 30, from 10; B arrives at 20; A is reported at 53 with 35 done.
  // IS(A) = (53 + 65) / 100 = 1.18, IS(B) = (33 + 40) / 40 = 1.825: B, for 1.825 * 100 - 65 - 53 = 64.5 > 40:
  // it completes.
  CHECK(in_hundreds(play(hundreds({client("A", 0, 100), client("B", 20, 40)}),
                         "{name: frs, params: {minimum_quantum: 3 us}}")) ==
        Lines{"0 A launch", "10 A start", "40 A evict", "48 A gone 35", "53 A evicted", "53 B launch",
              "63 B start", "103 B gone 40", "108 B completed", "108 B finished", "108 A launch",
              "118 A start", "183 A gone 65", "188 A completed", "188 A finished"});
}

TEST_CASE("frs: the quantum of equation 2 evicts") {
  // A is out at 28 with 15 done. At 33: IS(A) = (33 + 85) / 100 = 1.18, IS(B) = (18 + 50) / 50 = 1.36: B for
  // 136 - 118 = 18, from 43 to 61; 23 done. At 74: IS(A) = 1.59, IS(B) = (59 + 27) / 50 = 1.72: B again, for
  // 13, from 84 to 97; 18 more. At 110: IS(A) = 1.95, IS(B) = (95 + 9) / 50 = 2.08: B ends.
  CHECK(in_hundreds(play(hundreds({client("A", 0, 100), client("B", 15, 50)}),
                         "{name: frs, params: {minimum_quantum: 1 us}}")) ==
        Lines{"0 A launch",   "10 A start",  "20 A evict",    "28 A gone 15",    "33 A evicted",
              "33 B launch",  "43 B start",  "61 B evict",    "69 B gone 23",    "74 B evicted",
              "74 B launch",  "84 B start",  "97 B evict",    "105 B gone 18",   "110 B evicted",
              "110 B launch", "120 B start", "129 B gone 9",  "134 B completed", "134 B finished",
              "134 A launch", "144 A start", "229 A gone 85", "234 A completed", "234 A finished"});
}

TEST_CASE("frs: the printed denominator puts a kernel that has done nothing first") {
  const Scenario scenario = hundreds({client("A", 0, 100), client("B", 39, 90)});
  // At 53: total: IS(A) = 118 / 100, IS(B) = (14 + 90) / 90 = 1.155...; done: IS(A) = 118 / 35, IS(B)
  // infinite.
  const auto next = [&](const std::string& denominator) {
    return in_hundreds(
        play(scenario, "{name: frs, params: {minimum_quantum: 3 us, denominator: " + denominator + "}}"))[5];
  };
  CHECK(next("total") == "53 A launch");
  CHECK(next("done") == "53 B launch");
}

TEST_CASE("frs learns the time of a block-task when a kernel leaves") {
  // A claims to last 10 but lasts 100. After 35 block-tasks between 10 and 53 it is known to need 43/35 for
  // each.
  Client a = client("A", 0, 100);
  a.kernels[0].declared_time = Duration{10};
  const Scenario scenario = hundreds({a, client("B", 39, 90)});
  Scenario declared = scenario;
  declared.clients[0].kernels[0].declared_time = Duration{1000};
  // Given: IS(A) = (53 + 6.5) / 10 = 5.95 > IS(B) = 104 / 90. Learnt: IS(A) = (53 + 79.86) / 122.86 = 1.08
  // < 1.155...
  CHECK(in_hundreds(play(declared, "{name: frs, params: {minimum_quantum: 3 us}}"))[5] == "53 A launch");
  CHECK(
      in_hundreds(play(declared, "{name: frs, params: {minimum_quantum: 3 us, time_per_task: learnt}}"))[5] ==
      "53 B launch");
}

TEST_CASE("a program: copy in, kernels in order, copy out") {
  Client a = client("A", 0, 20);
  a.kernels.push_back(a.kernels[0]);
  a.copy_in = Bytes{100};  // 5 + 100
  a.copy_out = Bytes{50};
  const Played played = play({{a}}, "fcfs");
  CHECK(played.lines == Lines{"105 A launch", "115 A start", "135 A gone 20", "140 A completed",
                              "140 A launch", "150 A start", "170 A gone 20", "175 A completed",
                              "230 A finished"});
  CHECK(played.jobs[0].standalone == Duration{105 + 40 + 55});
  CHECK(played.jobs[0].copying == Duration{160});
  CHECK(played.jobs[0].waiting() == Duration{230 - 160 - 40});
}

TEST_CASE("copies of one direction wait for each other, in client order at one instant") {
  Client a = client("A", 0, 20), b = client("B", 0, 20);
  a.copy_in = b.copy_in = Bytes{100};
  const Played played = play({{a, b}}, "sjf");
  CHECK(played.lines[0] == "105 A launch");
  CHECK(played.lines[5] == "210 B launch");
}

TEST_CASE("jobs repeat with a period or a think time, one after the other") {
  Client a = client("A", 7, 20);
  SECTION("a period shorter than the response piles jobs up") {
    a.repeat = {3, Duration{30}, std::nullopt};
    const Played played = play({{a}}, "fcfs");  // each job needs 10 + 20 + 5
    REQUIRE(played.jobs.size() == 3);
    CHECK(played.jobs[1].arrival == Time{37});
    CHECK(played.jobs[1].finish == Time{7 + 70});
    CHECK(played.jobs[2].response() == Duration{7 + 105 - 67});
  }
  SECTION("think time counts from the finish") {
    a.repeat = {2, std::nullopt, Duration{1000}};
    const Played played = play({{a}}, "fcfs");
    CHECK(played.jobs[1].arrival == Time{7 + 35 + 1000});
  }
  SECTION("endless, until the horizon") {
    a.repeat = {std::nullopt, Duration{100}, std::nullopt};
    Scenario scenario{{a}};
    scenario.horizon = Time{250};
    const Played played = play(scenario, "fcfs");
    CHECK(played.totals.finished == 3);  // released at 7, 107, 207; the last finishes at 242
    scenario.horizon = Time{241};
    CHECK(play(scenario, "fcfs").totals.unfinished == 1);
  }
}

TEST_CASE("a measured eviction delay spans from the order to the last block") {
  Client a = client("A", 0, 100);
  a.kernels[0].block_task_length.reset();
  a.kernels[0].eviction_delay = Duration{22};  // seen after 2, drains 20, half of it useful
  const Played played = play({{a, client("B", 50, 20)}}, "srt");
  CHECK(played.lines[3] == "72 A gone 52");
  CHECK(played.totals.eviction_delay == Duration{22});
  a.kernels[0].useful = 0.25;  // or a quarter of it
  CHECK(play({{a, client("B", 50, 20)}}, "srt").lines[3] == "72 A gone 47");
}

TEST_CASE("without a measurement a drain is one block-task long") {
  Client a = client("A", 0, 1000);
  a.kernels[0].block_task_length.reset();
  a.kernels[0].block = {512, 1,
                        1};  // 4 blocks on each of 4 SMs: 16 share 1000 block-tasks of 1 ns, each lasts 16
  CHECK(play({{a, client("B", 50, 20)}}, "srt").lines[3] == "68 A gone 50");
}

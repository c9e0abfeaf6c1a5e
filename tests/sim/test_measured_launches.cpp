// What files say of launches as they were measured, worked out by hand from sim/README.md ("As measured").
// Times in ns; on the small device a launch takes 10, a flag is seen after 2, notice and pending work are 1
// and 4. A copy of n bytes takes n + 5.
#include <set>
#include <string>

#include "tests/catch.hpp"
#include "tests/scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

Client measured(Client client, MeasuredLaunches launches) {
  client.kernels[0].measured = std::make_shared<const MeasuredLaunches>(std::move(launches));
  return client;
}

MeasuredLaunches evicted(std::vector<MeasuredEviction> evictions, std::int64_t near = 1) {
  MeasuredLaunches m;
  m.evictions = std::move(evictions);
  m.near = near;
  return m;
}

MeasuredEviction like(std::int64_t ordered, std::int64_t gone, std::int64_t work) {
  return {Duration{ordered}, Duration{gone}, Duration{work}};
}

}  // namespace

TEST_CASE("as measured: a launch behind another kernel's has its own command and runs longer") {
  MeasuredLaunches m;
  m.launch = Duration{14};
  m.after_another = Duration{3};
  m.pending_work = Duration{7};
  Client a = measured(client("A", 0, 20), m);
  a.kernels.push_back(a.kernels[0]);
  a.kernels.push_back(client("", 0, 20).kernels[0]);
  a.kernels.push_back(a.kernels[0]);
  // Each kernel of the program is another one, also of equal code; the third says nothing.
  CHECK(play({{a}}, "fcfs").lines == Lines{"0 A launch", "14 A start", "37 A gone 20", "45 A completed",
                                           "45 A launch", "59 A start", "82 A gone 20", "90 A completed",
                                           "90 A launch", "100 A start", "120 A gone 20", "125 A completed",
                                           "125 A launch", "139 A start", "162 A gone 20", "170 A completed",
                                           "170 A finished"});
}

TEST_CASE("as measured: a kernel that goes on by itself is not another one") {
  MeasuredLaunches m;
  m.launch = Duration{14};
  m.after_another = Duration{3};
  Client a = measured(client("A", 0, 20), m);
  a.repeat = {2, std::nullopt, Duration{5}};
  CHECK(play({{a}}, "fcfs").lines == Lines{"0 A launch", "14 A start", "37 A gone 20", "42 A completed",
                                           "42 A finished", "47 A launch", "57 A start", "77 A gone 20",
                                           "82 A completed", "82 A finished"});
}

TEST_CASE("as measured: each launch takes a part of the time whatever its block-tasks") {
  MeasuredLaunches m = evicted({like(40, 48, 42)});
  m.each = Duration{20};  // 100 block-tasks in the other 80
  const Played played = play({{measured(client("A", 0, 100), m), client("B", 50, 20)}}, "srt");
  // At 50, 40 after its first block, A is evicted: gone 8 later, with 42 of the 80 ns done, 52 block-tasks.
  // The 48 that are left take 20 + ceil(48 * 80 / 100) = 59.
  CHECK(played.lines == Lines{"0 A launch", "10 A start", "50 A evict", "58 A gone 52", "63 A evicted",
                              "63 B launch", "73 B start", "93 B gone 20", "98 B completed", "98 B finished",
                              "98 A launch", "108 A start", "167 A gone 48", "172 A completed",
                              "172 A finished"});
}

TEST_CASE("as measured: block-tasks in step end in whole rounds") {
  MeasuredLaunches m = evicted({like(30, 40, 40)});
  m.in_step = 30;  // four rounds of 25 each: 30, 30, 30 and 10
  const Played played = play({{measured(client("A", 0, 100), m), client("B", 40, 20)}}, "sjf");
  // Gone 10 later with 40 of the 100 ns, 40 block-tasks: two rounds for the other 60.
  CHECK(played.lines[3] == "50 A gone 40");
  CHECK(played.lines[11] == "100 A start");
  CHECK(played.lines[12] == "150 A gone 60");
}

TEST_CASE("as measured: an eviction is like the one whose order was nearest") {
  const std::vector<MeasuredEviction> known{like(10, 15, 12), like(30, 50, 44), like(60, 61, 60)};
  const auto line = [&](std::int64_t arrives) {
    return play({{measured(client("A", 0, 100), evicted(known)), client("B", arrives, 1)}}, "srt").lines[3];
  };
  CHECK(line(25) == "30 A gone 17");  // 15 after the first block: as at 10, gone 5 later, 2 done meanwhile
  CHECK(line(30) == "35 A gone 22");  // as near to both: the earlier
  CHECK(line(31) == "51 A gone 35");  // 21: as at 30, 20 later, 14 done meanwhile
  CHECK(line(80) == "81 A gone 70");  // 70: as at 60
  CHECK(line(2) == "10 A gone 0");    // the flag is up when the blocks start
  CHECK(line(9) == "14 A gone 1");    // ordered before the first block, seen after it: as at the start
}

TEST_CASE("as measured: without evictions, block-tasks in step are evicted between two rounds") {
  MeasuredLaunches m;
  m.in_step = 30;         // rounds of 30, 30, 30 and 10 block-tasks
  m.each = Duration{20};  // after 20, four rounds of 20 each
  const auto line = [&](std::int64_t arrives) {
    return play({{measured(client("A", 0, 100), m), client("B", arrives, 1)}}, "srt").lines[3];
  };
  CHECK(line(12) == "50 A gone 30");  // seen at 14, before the first round begins
  CHECK(line(47) == "50 A gone 30");  // seen at 49
  CHECK(line(48) == "70 A gone 60");  // seen at 50, when the second round has begun
  CHECK(line(70) == "90 A gone 90");
  CHECK(line(88) == "110 A gone 100");  // in the last round
  CHECK(line(8) == "10 A gone 0");      // when the blocks start
}

TEST_CASE("as measured: of evictions that were ordered at the same time, the first in the list") {
  const std::vector<MeasuredEviction> known{like(10, 15, 12), like(10, 16, 12), like(10, 17, 12),
                                            like(30, 50, 44), like(30, 51, 44)};
  const auto line = [&](std::int64_t arrives, std::int64_t near, std::uint32_t permutation) {
    const Client a = measured(client("A", 0, 100), evicted(known, near));
    return play({{a, client("B", arrives, 1)}}, "srt", {7, 0, permutation}).lines[3];
  };
  CHECK(line(22, 1, 0) == "27 A gone 14");  // 12 after the first block: gone 5 later
  CHECK(line(30, 1, 0) == "35 A gone 22");  // 20: as near to all five
  CHECK(line(20, 1, 0) == "25 A gone 12");
  CHECK(line(40, 1, 0) == "60 A gone 44");
  // Of two: at 29, 5 or 6 later; at 31, 20 or 21.
  std::set<std::string> early, late;
  for (std::uint32_t permutation = 0; permutation < 50; ++permutation) {
    early.insert(line(29, 2, permutation));
    late.insert(line(31, 2, permutation));
  }
  CHECK(early == std::set<std::string>{"34 A gone 21", "35 A gone 21"});
  CHECK(late == std::set<std::string>{"51 A gone 35", "52 A gone 35"});
}

TEST_CASE("as measured: what is all claimed before the flag is seen completes") {
  const auto m = evicted({like(50, 60, 58)});
  // Ordered 93 after the first block: 93 + 8 block-tasks are more than there are; at 92 they are as many.
  for (const std::int64_t arrives : {103, 102})
    CHECK(play({{measured(client("A", 0, 100), m), client("B", arrives, 1)}}, "srt").lines[3] ==
          "110 A gone 100");
  // At 91 all but one: and it is gone no later than it would have been.
  CHECK(play({{measured(client("A", 0, 100), m), client("B", 101, 1)}}, "srt").lines[3] == "110 A gone 99");
}

TEST_CASE("as measured: of several near ones each is drawn, the same under every policy and in every run") {
  std::vector<MeasuredEviction> known;
  for (std::int64_t i = 0; i < 8; ++i) known.push_back(like(100 * i, 100 * i + 10 + i, 100 * i + 5));
  const Scenario scenario{{measured(client("A", 0, 1000), evicted(known, 3)), client("B", 370, 1)}};
  std::vector<int> delays(20);
  for (std::uint32_t permutation = 0; permutation < 300; ++permutation) {
    const RunSeed seed{7, 0, permutation};
    const Played played = play(scenario, "srt", seed);
    CHECK(played.lines == play(scenario, "srt", seed).lines);
    CHECK(play(scenario, "sjf", seed).totals.eviction_delay == played.totals.eviction_delay);
    ++delays[static_cast<std::size_t>(played.totals.eviction_delay.ns)];
  }
  // 360 after the first block: those at 300, 400 and, nearer than 200, 500.
  CHECK(delays[13] + delays[14] + delays[15] == 300);
  for (const std::size_t i : {13, 14, 15}) CHECK(delays[i] > 70);
}

TEST_CASE("as measured: the scale of the delays applies") {
  Scenario scenario{{measured(client("A", 0, 100), evicted({like(40, 60, 54)})), client("B", 50, 1)}};
  scenario.mechanism = "{name: flag-copy, params: {delay_scale: 0.5}}";
  CHECK(play(scenario, "srt").lines[3] == "60 A gone 47");
}

namespace {

Scenario beside_copies(std::vector<Client> clients) {
  Scenario scenario{std::move(clients)};
  scenario.device.commands.beside_copies = {Duration{6}, Duration{3}, true};
  return scenario;
}

}  // namespace

TEST_CASE("beside copies: launches take longer, and pending work is read behind a copy to the host") {
  Client a = client("A", 0, 100);
  a.copy_out = Bytes{50};  // from 115 on, until 170
  // B's last block ends at 151, what is done is known at 170 + 4. A third launch is beside nothing.
  CHECK(play(beside_copies({a, client("B", 0, 20), client("C", 0, 20)}), "fcfs").lines ==
        Lines{"0 A launch", "10 A start", "110 A gone 100", "115 A completed", "115 B launch", "131 B start",
              "151 B gone 20", "170 A finished", "174 B completed", "174 B finished", "174 C launch",
              "184 C start", "204 C gone 20", "209 C completed", "209 C finished"});
  // Written to where the scheduler sees it, it is not read.
  Scenario written = beside_copies({a, client("B", 0, 20)});
  written.mechanism = "write-value";
  CHECK(play(written, "fcfs").lines.back() == "166 A finished");
}

TEST_CASE("beside copies: an eviction takes longer") {
  Client d = client("D", 35, 1000);
  d.copy_in = Bytes{50};  // until 90
  // Sent at 43, seen at 45: 35 done by then and 3 more; B is launched beside the copy, too.
  const Played played = play(beside_copies({client("A", 0, 100), client("B", 40, 20), d}), "srt");
  CHECK(Lines(played.lines.begin(), played.lines.begin() + 8) ==
        Lines{"0 A launch", "10 A start", "40 A evict", "51 A gone 38", "56 A evicted", "56 B launch",
              "72 B start", "92 B gone 20"});
}

TEST_CASE("as measured: of a slice, its command and what each launch takes") {
  MeasuredLaunches m = evicted({like(40, 48, 42)});
  m.launch = Duration{14};
  m.after_another = Duration{3};
  m.pending_work = Duration{7};
  m.in_step = 5;
  m.each = Duration{30};
  Client a = measured(client("A", 0, 300), m);
  a.kernels[0].block_tasks = {40};  // three waves of 16, of 90 each
  a.kernels[0].block = {512, 1, 1};
  Scenario scenario{{a}};
  scenario.mechanism = "slice";
  CHECK(play(scenario, "{name: pkm, params: {slice: block-tasks, block_tasks: 16}}").lines ==
        Lines{"0 A launch", "14 A start", "137 A gone 16", "138 A budget", "138 A launch", "148 A start",
              "268 A gone 16", "269 A budget", "269 A launch", "279 A start", "399 A gone 8",
              "400 A completed", "400 A finished"});
  // Whole, it takes its original time.
  CHECK(play(scenario, "fcfs").lines[2] == "317 A gone 40");
}

namespace {

Scenario slow_after_idle(std::vector<Client> clients) {
  Scenario scenario{std::move(clients)};
  scenario.device.commands.after_idle = {{Duration{40}, Duration{8}}, {Duration{100}, Duration{20}}};
  return scenario;
}

}  // namespace

TEST_CASE("as measured: evictions count only under mechanisms that evict in the same way") {
  Device device = small_device();
  device.polls = PollCosts{Duration{3}, Duration{1}};
  MeasuredLaunches m = evicted({like(40, 48, 42)});
  m.after_another = Duration{3};
  const auto differs = [&](const std::string& measured_under, const std::string& mechanism) {
    Kernel kernel = client("A", 0, 100).kernels[0];
    kernel.block_tasks = {100'000};
    kernel.eviction_delay = Duration{50'000};
    kernel.useful = 0.9;
    m.mechanism = measured_under;
    kernel.measured = std::make_shared<const MeasuredLaunches>(m);
    const auto under = mechanism_from(mechanism);
    const CommandDelays applicable = under->applicable_delays(kernel, device);
    CHECK(applicable.measured->after_another == m.after_another);  // launches are not evictions
    Kernel plain = kernel;
    plain.eviction_delay.reset();
    plain.useful.reset();
    const CommandDelays all = under->delays(kernel, device), rules = under->delays(plain, device);
    const CommandDelays& expected = applicable.measured->evictions.empty() ? rules : all;
    CHECK(applicable.drain == expected.drain);
    CHECK(applicable.drain_work == expected.drain_work);
    CHECK(evictions_of_another(kernel, *under) == applicable.measured->evictions.empty());
    return applicable.measured->evictions.empty();
  };
  for (const char* same : {"flag-copy", "write-value", "loop"}) {
    CHECK_FALSE(differs("flag-copy", same));
    CHECK(differs("basic", same));
    CHECK(differs("flag-copy", "proxy"));
  }
  CHECK_FALSE(differs("basic", "basic"));
  CHECK(differs("proxy", "proxy-adaptive"));
  CHECK(differs("flag-copy", "prologue"));
  for (const char* any : {"flag-copy", "basic", "proxy"}) CHECK_FALSE(differs("", any));
}

TEST_CASE("as measured: a run under another mechanism goes by that mechanism's rules") {
  const auto lines = [](const std::string& measured_under, std::vector<MeasuredEviction> evictions) {
    MeasuredLaunches m = evicted(std::move(evictions));
    m.mechanism = measured_under;
    Scenario scenario{{measured(client("A", 0, 100), m), client("B", 50, 20)}};
    scenario.clients[0].kernels[0].eviction_delay.reset();
    scenario.mechanism = "prologue";
    return play(scenario, "srt").lines;
  };
  const Lines by_rules = lines("", {});
  CHECK(lines("flag-copy", {like(40, 45, 41)}) == by_rules);
  CHECK(lines("prologue", {like(40, 45, 41)}) != by_rules);
  CHECK(lines("", {like(40, 45, 41)}) != by_rules);
}

TEST_CASE("as measured: an order in the part of a launch in which all is claimed comes too late") {
  const auto lines = [](std::int64_t too_late) {
    MeasuredLaunches m = evicted({like(40, 45, 41)});
    m.too_late = Duration{too_late};
    return play(Scenario{{measured(client("A", 0, 100), m), client("B", 50, 20)}}, "srt").lines;
  };
  // A runs from 10 to 110; the order comes at 50.
  CHECK(lines(60) == lines(0));
  const Lines late = lines(61);
  CHECK(late != lines(0));
  CHECK(std::count(late.begin(), late.end(), "110 A gone 100") == 1);
}

TEST_CASE("after idle: a launch takes longer the longer nothing was on the GPU") {
  // Nothing for 25 before B, for 70 before C, and for 387 before D.
  const Played played = play(
      slow_after_idle({client("A", 0, 100), client("B", 135, 20), client("C", 240, 20), client("D", 679, 1)}),
      "fcfs");
  CHECK(played.lines == Lines{"0 A launch",      "10 A start",      "110 A gone 100",  "115 A completed",
                              "115 A finished",  "135 B launch",    "150 B start",     "170 B gone 20",
                              "175 B completed", "175 B finished",  "240 C launch",    "264 C start",
                              "284 C gone 20",   "289 C completed", "289 C finished",  "679 D launch",
                              "709 D start",     "710 D gone 1",    "715 D completed", "715 D finished"});
}

TEST_CASE("after idle: a GPU that copies is not idle") {
  Client a = client("A", 200, 20);
  a.copy_in = Bytes{50};  // until 255
  const Lines own = play(slow_after_idle({a}), "fcfs").lines;
  CHECK(Lines(own.begin(), own.begin() + 2) == Lines{"255 A launch", "265 A start"});
  const Lines beside = play(slow_after_idle({a, client("B", 240, 1)}), "fcfs").lines;
  CHECK(Lines(beside.begin(), beside.begin() + 2) == Lines{"240 B launch", "250 B start"});
  Client c = client("C", 0, 20);
  c.copy_out = Bytes{50};  // from 35 until 90
  const Lines behind = play(slow_after_idle({c, client("D", 130, 1)}), "fcfs").lines;
  CHECK(Lines(behind.begin() + 5, behind.begin() + 7) == Lines{"130 D launch", "148 D start"});
}

TEST_CASE("after idle: under the ideal mechanism a launch takes no time") {
  Scenario scenario = slow_after_idle({client("A", 200, 20)});
  scenario.device.commands.beside_copies.launch = Duration{6};
  scenario.clients[0].copy_in = Bytes{5};
  scenario.clients.push_back(client("B", 205, 20));  // beside the copy
  scenario.mechanism = "ideal";
  CHECK(play(scenario, "fcfs").lines[1] == "205 B start");
  scenario.clients.erase(scenario.clients.begin());
  CHECK(play(scenario, "fcfs").lines[1] == "205 B start");
}

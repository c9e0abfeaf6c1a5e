// A policy's launches beside native clients on one device.
#include <algorithm>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/blocks/block_scenario.hpp"
#include "tests/sim/random_scenario.hpp"

namespace gangway::testing {
namespace {

// Under the policy: four persistent blocks of two threads, 40 block-tasks in 40 ns.
Client preempted(const std::string& name, std::int64_t arrive) {
  Client client = native(name, arrive, 40, 2, 1);
  client.native = false;
  client.kernels[0].time = Duration{40};
  client.kernels[0].block_task_length = Duration{4};
  return client;
}

Lines lines_without(const Played& played, const std::string& client) {
  Lines lines;
  for (const std::string& line : played.lines)
    if (line.find(" " + client + " ") == std::string::npos) lines.push_back(line);
  // The order within an instant is not part of the model.
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return std::stoll(a) < std::stoll(b); });
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

TEST_CASE("a native client that never comes in the way changes nothing", "[blocks][long]") {
  for (const int number : case_numbers(150, 5'000))
    for (const std::string& policy : all_policies()) {
      INFO("scenario " << number << ", " << policy);
      Scenario scenario = random_scenario(static_cast<std::uint64_t>(number));
      const Played alone = play(scenario, policy);
      scenario.clients.push_back(native("Z", 1'000'000'000'000, 1, 1, 1));
      const Played shared = play(scenario, policy);
      REQUIRE(lines_without(shared, "Z") == lines_without(alone, "Z"));
    }
}

TEST_CASE("slices are waves of blocks, as they are on the device", "[blocks][long]") {
  for (const int number : case_numbers(300, 10'000))
    for (const char* slice : {"slice: block-tasks, block_tasks: 7", "latency: 2 us"}) {
      INFO("scenario " << number << ", " << slice);
      const std::string policy = std::string("{name: pkm, params: {") + slice + "}}";
      Scenario scenario = random_scenario(static_cast<std::uint64_t>(number));
      scenario.mechanism = "slice";
      const Played alone = play(scenario, policy);
      scenario.clients.push_back(native("Z", 1'000'000'000'000, 1, 1, 1));
      const Played shared = play(scenario, policy);
      REQUIRE(lines_without(shared, "Z") == lines_without(alone, "Z"));
    }
}

TEST_CASE("a launch with half of its blocks works at half its speed", "[blocks]") {
  // N has four of eight threads for 20 ns: 20 ns at 2/4, and 30 at full speed.
  const Scenario scenario{
      .clients = {native("N", 0, 2, 2, 20), preempted("P", 0)}, .device = sms(1), .mechanism = "ideal"};
  const BlockRun run = run_blocks(scenario, false, "fcfs");
  CHECK(times(run, 0) == std::pair<std::int64_t, std::int64_t>{0, 20});
  CHECK(times(run, 1) == std::pair<std::int64_t, std::int64_t>{0, 50});
  CHECK(run.blocks == Lines{"N 0 [0,20) x2 on 0", "P 0 [0,50) x2 on 0", "P 0 [20,50) x2 on 0"});
}

TEST_CASE("a launch waits for room like any kernel, and counts from its first block", "[blocks]") {
  const Scenario scenario{
      .clients = {native("N", 0, 1, 8, 15), preempted("P", 5)}, .device = pool(8), .mechanism = "ideal"};
  CHECK(times(run_blocks(scenario, false, "fcfs"), 1) == std::pair<std::int64_t, std::int64_t>{15, 55});
}

TEST_CASE("blocks that find the work done leave as soon as they get a place", "[blocks]") {
  // One of four blocks has a place and does everything in 160 ns; the others take its place one after the
  // other.
  const Scenario scenario{
      .clients = {native("N", 0, 3, 2, 1000), preempted("P", 0)}, .device = sms(1), .mechanism = "ideal"};
  const BlockRun run = run_blocks(scenario, false, "fcfs");
  CHECK(times(run, 1) == std::pair<std::int64_t, std::int64_t>{0, 160});
}

TEST_CASE("blocks that get their places in the instant in which they see the flag do nothing", "[blocks]") {
  // P's command takes 40 ns, as long as it takes Q to come; the order to evict needs no time.
  Scenario scenario{.clients = {preempted("P", 0), preempted("Q", 40), native("N", 1'000, 1, 1, 1)},
                    .device = sms(1),
                    .mechanism = "flag-copy"};
  scenario.device.commands.launch = Duration{40};
  scenario.clients[1].priority = 1;
  const BlockRun run = run_blocks(scenario, false, "piv");
  const auto left = std::find_if(run.records.begin(), run.records.end(),
                                 [](const Record& r) { return r.mark == Mark::left; });
  REQUIRE(left != run.records.end());
  CHECK(left->time == Time{40});
  CHECK(left->amount == 0);
  CHECK(times(run, 1) == std::pair<std::int64_t, std::int64_t>{80, 120});
  CHECK(times(run, 0).second == 200);
}

TEST_CASE("the end of a launch and an arrival in the same instant are told together", "[blocks]") {
  // P's first kernel ends when Q comes: P, which has been there, waits in front of Q, as without N.
  Scenario scenario{.clients = {preempted("Q", 40), preempted("P", 0), preempted("R", 10)},
                    .device = sms(1),
                    .mechanism = "ideal"};
  scenario.clients[1].kernels.push_back(scenario.clients[1].kernels[0]);
  const Played alone = play(scenario, "rr");
  scenario.clients.push_back(native("N", 1'000, 1, 1, 1));
  CHECK(lines_without(play(scenario, "rr"), "N") == lines_without(alone, "N"));
}

TEST_CASE("a native kernel behind a launch without room waits for it", "[blocks]") {
  // Two of P's blocks have no room, so S stands behind P in the primary queue although it would fit.
  const Scenario scenario{.clients = {native("N", 0, 1, 3, 50), preempted("P", 0), native("S", 1, 1, 1, 1)},
                          .device = pool(8),
                          .mechanism = "ideal"};
  const BlockRun run = run_blocks(scenario, false, "fcfs");
  CHECK(times(run, 1) == std::pair<std::int64_t, std::int64_t>{0, 65});   // 50 ns at 2/4
  CHECK(times(run, 2) == std::pair<std::int64_t, std::int64_t>{65, 66});  // and then P has all threads
}

TEST_CASE("an eviction drains the blocks that run, and the others leave when they are assigned", "[blocks]") {
  // P and Q take turns of 12 us. N holds half of the threads until 30 us.
  Scenario scenario{.clients = {native("N", 0, 2, 2, 30'000), preempted("P", 0), preempted("Q", 0)},
                    .device = sms(1),
                    .mechanism = "{name: flag-copy, params: {useful: 1}}"};
  for (std::size_t c : {1u, 2u}) {
    scenario.clients[c].kernels[0].time = Duration{40'000};
    scenario.clients[c].kernels[0].block_task_length = Duration{4'000};
  }
  const std::string policy = "{name: rr, params: {quantum: 12 us}}";
  const BlockRun run = run_blocks(scenario, false, policy);
  // P works at 2/4 until 12 us, and through the drain of one block-task: 8 of its 40 block-tasks in 16 us.
  const auto left = std::find_if(run.records.begin(), run.records.end(),
                                 [](const Record& r) { return r.mark == Mark::left; });
  REQUIRE(left != run.records.end());
  CHECK(left->time == Time{16'000});
  CHECK(left->job.client.index == 1);
  CHECK(left->amount == 8);
  // Its two blocks without a place get one then, see the flag and leave: Q is not behind them.
  CHECK(run.blocks[0] == "P 0 [0,16000) x2 on 0");
  CHECK(run.blocks[1] == "N 0 [0,30000) x2 on 0");
  CHECK(times(run, 2).first == 16'000);
  CHECK(run.totals.unfinished == 0);
  CHECK(run_blocks(scenario, true, policy).blocks == run.blocks);
}

}  // namespace gangway::testing

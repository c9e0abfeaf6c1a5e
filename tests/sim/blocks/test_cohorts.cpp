// Cohorts and whole waves against one event for each block: the same trace.
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/blocks/block_scenario.hpp"

namespace gangway::testing {
namespace {

bool same(const Record& a, const Record& b) {
  return a.time == b.time && a.launch == b.launch && a.amount == b.amount && a.job == b.job &&
         a.kernel == b.kernel && a.mark == b.mark && a.why == b.why && a.direction == b.direction &&
         a.copy == b.copy;
}

void check_same(const BlockRun& cohorts, const BlockRun& blocks) {
  REQUIRE(cohorts.blocks == blocks.blocks);
  REQUIRE(cohorts.held == blocks.held);
  REQUIRE(cohorts.records.size() == blocks.records.size());
  for (std::size_t i = 0; i < cohorts.records.size(); ++i) {
    INFO(describe(cohorts.records[i], "") << " / " << describe(blocks.records[i], ""));
    REQUIRE(same(cohorts.records[i], blocks.records[i]));
  }
}

}  // namespace

TEST_CASE("cohorts and single blocks have the same trace", "[blocks][long]") {
  for (const int number : case_numbers(10'000, 300'000)) {
    INFO("scenario " << number);
    const Scenario scenario = random_block_scenario(static_cast<std::uint64_t>(number));
    check_same(run_blocks(scenario), run_blocks(scenario, true));
  }
}

TEST_CASE("whole waves are one event, however many", "[blocks]") {
  // 2 SMs of 4 slots: waves of 8 blocks. The second kernel comes in the middle of a wave.
  Scenario scenario{.clients = {native("A", 0, 1'000'000, 1, 10), native("B", 50'005, 8, 1, 10)},
                    .device = sms(2)};
  const BlockRun run = run_blocks(scenario);
  CHECK(times(run, 0) == std::pair<std::int64_t, std::int64_t>{0, 1'250'000});
  CHECK(times(run, 1) == std::pair<std::int64_t, std::int64_t>{1'250'000, 1'250'010});
  check_same(run, run_blocks(scenario, true));
}

TEST_CASE("a horizon in the middle of waves keeps the waves before it", "[blocks]") {
  Scenario scenario{.clients = {native("A", 0, 1000, 1, 10)}, .device = pool(4), .horizon = Time{35}};
  const BlockRun run = run_blocks(scenario);
  CHECK(run.blocks == Lines{"A 0 [0,10) x4 on 0", "A 0 [10,20) x4 on 0", "A 0 [20,30) x4 on 0"});
  check_same(run, run_blocks(scenario, true));
}

}  // namespace gangway::testing

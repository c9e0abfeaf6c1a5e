// What must hold for native clients whatever they do, over thousands of random workloads.
#include <algorithm>
#include <map>

#include "models/random.hpp"
#include "sim/blocks/context_turns.hpp"
#include "sim/blocks/multiprocessors.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/blocks/block_scenario.hpp"

namespace gangway::testing {
namespace {

const Kernel& kernel_of(const Scenario& scenario, const BlockSpan& span) {
  return scenario.clients[span.job.client.index].kernels[span.kernel];
}

// At no time more of an SM in use than there is.
void check_room(const Scenario& scenario, const BlockRun& run) {
  const RuleSet& rules = scenario.device.rules;
  if (!rules.on(Rule::R1)) return;
  struct Use {
    std::int64_t threads = 0, blocks = 0, registers = 0, shared = 0;
  };
  // Ends come before beginnings.
  std::map<std::tuple<std::uint32_t, Time, bool>, Use> changes;
  for (std::size_t i = 0; i < run.spans.size(); ++i) {
    const BlockSpan& span = run.spans[i];
    const BlockNeeds needs = needs_of(scenario.device, kernel_of(scenario, span));
    for (const bool begins : {false, true}) {
      const std::int64_t count = begins ? run.places[i].count : -std::int64_t{run.places[i].count};
      Use& use = changes[{run.places[i].sm, begins ? span.began : span.began + span.length, begins}];
      use.threads += count * needs.threads;
      use.blocks += count;
      use.registers += count * needs.registers;
      use.shared += count * needs.shared_memory.count;
    }
  }
  Use use;
  for (const auto& [key, change] : changes) {
    use.threads += change.threads;
    use.blocks += change.blocks;
    use.registers += change.registers;
    use.shared += change.shared;
    if (rules.on(Rule::R2)) REQUIRE(use.threads <= scenario.device.sm.threads);
    if (scenario.device.pool) continue;
    REQUIRE(use.blocks <= scenario.device.sm.blocks);
    if (!rules.on(Rule::R3)) continue;
    REQUIRE(use.registers <= scenario.device.sm.registers);
    REQUIRE(use.shared <= scenario.device.sm.shared_memory.count);
  }
}

bool stops_blocks(const Scenario& scenario) {
  return scenario.device.arbitration == Arbitration::timeslice && scenario.device.time_slice->stops_blocks;
}

// Every block of every kernel that ended ran once, for as long as it should; where time slices stop blocks,
// in pieces that are as long in all.
void check_blocks(const Scenario& scenario, const BlockRun& run) {
  std::map<LaunchId, std::int64_t> ran;
  for (std::size_t i = 0; i < run.spans.size(); ++i) {
    const Kernel& kernel = kernel_of(scenario, run.spans[i]);
    const bool equal = scenario.jitter.block_time == 0 && kernel.exceptions.empty();
    if (stops_blocks(scenario)) {
      if (equal) ran[run.spans[i].launch] += run.places[i].count * run.spans[i].length.ns;
      REQUIRE(run.spans[i].length > Duration{});
      continue;
    }
    ran[run.spans[i].launch] += run.places[i].count;
    if (equal) REQUIRE(run.spans[i].length == *kernel.block_task_length);
  }
  if (stops_blocks(scenario))
    for (auto& [launch, time] : ran) {
      const auto of_launch = [&](const Record& r) { return r.launch == launch && r.mark == Mark::started; };
      const Record& r = *std::find_if(run.records.begin(), run.records.end(), of_launch);
      time /= scenario.clients[r.job.client.index].kernels[r.kernel].block_task_length->ns;
    }
  for (const Record& r : run.records)
    if (r.mark == Mark::gone && (!stops_blocks(scenario) || ran.count(r.launch) != 0))
      REQUIRE(ran[r.launch] == r.amount);
}

// A kernel that is not assigned at once is held by a rule, and the trace names it.
void check_named(const Scenario& scenario, const BlockRun& run) {
  if (!scenario.device.rules.on(Rule::G3)) return;  // then kernels stand in the queue after they are assigned
  std::map<LaunchId, Time> queued;
  std::map<LaunchId, Time> whole;
  for (const Record& r : run.records) {
    if (r.mark == Mark::queued && !r.copy) queued[r.launch] = r.time;
    if (r.mark == Mark::dequeued && !r.copy) whole[r.launch] = r.time;
  }
  for (const auto& [launch, time] : queued) {
    const auto end = whole.find(launch);
    if (end != whole.end() && end->second == time) continue;
    REQUIRE(run.held_launches.count(launch) == 1);
  }
}

// Where the head lets nobody pass, kernels of one priority begin in the order in which they queued.
void check_order(const Scenario& scenario, const BlockRun& run) {
  if (!scenario.device.rules.on(Rule::X1) || scenario.device.queue_order != QueueOrder::became_head) return;
  const bool one_queue = !scenario.device.rules.on(Rule::A1) || scenario.device.priorities == 1 ||
                         scenario.device.arbitration == Arbitration::fifo;
  const auto contexts = contexts_of(scenario.clients, scenario.device);
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<LaunchId>> queued, started;
  for (const Record& r : run.records) {
    const std::uint32_t context = contexts[r.job.client.index];
    const std::int64_t priority =
        one_queue ? 0
                  : std::clamp<std::int64_t>(scenario.clients[r.job.client.index].priority, 0,
                                             scenario.device.priorities - 1);
    if (r.mark == Mark::queued && !r.copy) queued[{context, priority}].push_back(r.launch);
    if (r.mark == Mark::started) started[{context, priority}].push_back(r.launch);
  }
  for (auto& [queue, launches] : queued) {
    launches.resize(started[queue].size());
    REQUIRE(launches == started[queue]);
  }
}

// Blocks of two contexts are never on the device at once, and not before a switch either.
void check_turns(const Scenario& scenario, const BlockRun& run) {
  const auto contexts = contexts_of(scenario.clients, scenario.device);
  if (std::all_of(contexts.begin(), contexts.end(), [](auto c) { return c == 0; })) return;
  const TimeSlice& slice = *scenario.device.time_slice;
  const Duration gap =
      slice.context_switch + (slice.stops_blocks ? Duration{} : scenario.device.delays.block_end);
  std::vector<BlockSpan> spans = run.spans;
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.began < b.began; });
  Time end;  // of all blocks so far
  std::optional<std::uint32_t> last;
  for (const BlockSpan& span : spans) {
    const std::uint32_t context = contexts[span.job.client.index];
    if (last && context != *last) REQUIRE(span.began >= end + gap);
    last = context;
    end = std::max(end, span.began + span.length);
  }
}

}  // namespace

TEST_CASE("room, blocks, order and the naming of rules hold for whatever native clients do",
          "[blocks][long]") {
  for (const int number : case_numbers(4'000, 200'000)) {
    INFO("scenario " << number);
    const Scenario scenario = random_block_scenario(static_cast<std::uint64_t>(number));
    const BlockRun run = run_blocks(scenario);
    check_room(scenario, run);
    check_blocks(scenario, run);
    check_named(scenario, run);
    check_turns(scenario, run);
    check_order(scenario, run);
    // A kernel in a queue before it may run can block those that it waits for.
    const bool ends =
        scenario.horizon == Time::max() && scenario.device.queue_order != QueueOrder::release_all;
    if (ends) REQUIRE(run.totals.unfinished == 0);
  }
}

TEST_CASE("many blocks at once are placed as one by one", "[blocks][long]") {
  for (const int number : case_numbers(2'000, 100'000)) {
    INFO("case " << number);
    Stream random(static_cast<std::uint64_t>(number), "placement", {});
    Device device = sms(1 + static_cast<std::int64_t>(random.below(6)));
    if (random.below(2) == 0) device.placement = Placement::lowest_index_first;
    Multiprocessors at_once(device), singly(device);
    std::vector<std::pair<BlockNeeds, std::vector<BlocksOnSm>>> placed;
    for (int step = 0; step < 12; ++step) {
      if (!placed.empty() && random.below(3) == 0) {
        const auto chosen = placed[random.below(placed.size())];
        const BlockNeeds& needs = chosen.first;
        const std::vector<BlocksOnSm>& where = chosen.second;
        placed.erase(
            std::find_if(placed.begin(), placed.end(), [&](const auto& p) { return p.second == where; }));
        at_once.release(needs, where);
        singly.release(needs, where);
        continue;
      }
      const BlockNeeds needs{1 + static_cast<std::int64_t>(random.below(4)),
                             static_cast<std::int64_t>(random.below(20)),
                             Bytes{static_cast<std::int64_t>(random.below(5))}};
      const auto most = 1 + static_cast<std::int64_t>(random.below(12));
      std::vector<BlocksOnSm> where, one;
      std::map<std::uint32_t, std::uint32_t> counts;
      const std::int64_t count = at_once.place(needs, most, where);
      std::int64_t alone = 0;
      for (; alone < most; ++alone) {
        one.clear();
        if (singly.place(needs, 1, one) == 0) break;
        ++counts[one[0].sm];
      }
      REQUIRE(alone == count);
      std::vector<BlocksOnSm> expected;
      expected.reserve(counts.size());
      for (const auto& [sm, blocks] : counts) expected.push_back({sm, blocks});
      REQUIRE(where == expected);
      if (count > 0) placed.emplace_back(needs, where);
    }
  }
}

}  // namespace gangway::testing

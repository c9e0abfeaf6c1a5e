// Where the time of a run goes, whatever the workload, the policy and the horizon: `play` and `run_blocks`
// hold every run to the laws of tests/time_laws.hpp, so these tests need only play.
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/blocks/block_scenario.hpp"
#include "tests/sim/channels/access_scenario.hpp"
#include "tests/sim/memory/random_memory.hpp"
#include "tests/sim/random_scenario.hpp"

namespace gangway::testing {
namespace {

using namespace literals;

// Clients that submit by themselves, one of them now and then with a kernel that never ends.
Scenario access_scenario(std::uint64_t number) {
  Stream random(number, "access", {});
  std::vector<Client> clients;
  for (std::uint64_t c = 0; c <= random.below(4); ++c) {
    const auto some = [&](std::uint64_t most) { return static_cast<std::int64_t>(random.below(most)); };
    Client client = looping(std::string(1, static_cast<char>('A' + c)), 1 + some(60), some(40));
    client = copying(client, some(3) * some(30), some(3) * some(30));
    client.blocking = random.below(2) == 0;
    if (random.below(6) == 0) client.kernels[0].never_ends = static_cast<std::uint32_t>(random.below(5));
    clients.push_back(client);
  }
  Scenario scenario = in_turn(std::move(clients), 6000);
  scenario.device.access.context_switch = Duration{static_cast<std::int64_t>(random.below(3) * 2500)};
  scenario.device.access.interception = Duration{static_cast<std::int64_t>(random.below(3) * 3000)};
  return scenario;
}

// Clients of a policy with some native ones beside them, on devices with priorities or time slices.
Scenario mixed_scenario(std::uint64_t number) {
  Scenario scenario = random_scenario(number);
  Stream random(number, "mixed", {});
  for (Client& client : scenario.clients)
    if (random.below(3) == 0) {
      client.native = true;
      for (Kernel& kernel : client.kernels) {
        kernel.block_tasks = {static_cast<std::int64_t>(1 + random.below(20))};
        kernel.block = {static_cast<std::int64_t>(1 + random.below(1000)), 1, 1};
        kernel.block_task_length = Duration{static_cast<std::int64_t>(1 + random.below(3000))};
      }
    }
  scenario.device.priorities = static_cast<std::int64_t>(1 + random.below(3));
  if (random.below(3) == 0)
    scenario.device.delays.block_end = Duration{static_cast<std::int64_t>(1 + random.below(50))};
  if (random.below(3) == 0) {
    scenario.device.arbitration = Arbitration::timeslice;
    scenario.device.time_slice = TimeSlice{Duration{static_cast<std::int64_t>(100 + random.below(5000))},
                                           Duration{static_cast<std::int64_t>(random.below(300))}};
  }
  return scenario;
}

// What the policy can schedule: `number` chooses among workloads, and whether a horizon cuts the run.
Scenario scenario_for(const PolicyEntry& policy, std::uint64_t number) {
  const auto made = policy.make(ParameterValues(policy.parameters, std::nullopt));
  const Capabilities needs = made->needs();
  if (needs.has(Capability::access)) return access_scenario(number);
  if (needs.has(Capability::native))
    return number % 3 == 0 ? access_scenario(number) : random_block_scenario(number);
  if (needs.has(Capability::memory))
    return made->several_gpus() ? random_gpus(number) : random_memory(number);
  const bool owners = made->heeds_clients_gpus() && number % 4 == 0;
  Scenario scenario = owners            ? random_owners(number)
                      : number % 2 == 0 ? random_scenario(number)
                                        : mixed_scenario(number);
  if (policy.name == "pkm") scenario.mechanism = "slice";
  return scenario;
}

}  // namespace

TEST_CASE("executing, copying and waiting are the response, and a GPU is never busier than busy",
          "[time][long]") {
  for (const int i : case_numbers(300, 20'000))
    for (const PolicyEntry& policy : Policies::all()) {
      const auto number = static_cast<std::uint64_t>(i);
      INFO("scenario " << i << " under " << policy.name);
      Scenario scenario = scenario_for(policy, number);
      const Played whole = play(scenario, policy.name);
      if (scenario.horizon < Time::max()) continue;
      // Cut short somewhere in its middle.
      Stream random(number, "horizon", {});
      scenario.horizon =
          Time{1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(whole.totals.end.ns)))};
      const Played cut = play(scenario, policy.name);
      REQUIRE(cut.totals.finished + cut.totals.unfinished <= whole.totals.finished + whole.totals.unfinished);
      REQUIRE(cut.totals.end <= scenario.horizon);
    }
}

TEST_CASE("all variants of policies keep the laws of time when a horizon cuts them short", "[time][long]") {
  for (const int i : case_numbers(150, 10'000))
    for (const std::string& policy : all_policies()) {
      INFO("scenario " << i << " under " << policy);
      Scenario scenario = i % 2 == 0 ? random_scenario(static_cast<std::uint64_t>(i))
                                     : mixed_scenario(static_cast<std::uint64_t>(i));
      scenario.horizon = Time{1000 + 700 * i};
      REQUIRE(play(scenario, policy).totals.end <= scenario.horizon);
    }
}

TEST_CASE("block by block, native clients pause when they do in waves", "[time][long]") {
  int pauses = 0;
  for (const int i : case_numbers(1'000, 50'000)) {
    INFO("scenario " << i);
    const Scenario scenario = random_block_scenario(static_cast<std::uint64_t>(i));
    const BlockRun waves = run_blocks(scenario), blocks = run_blocks(scenario, true);
    const auto pausing = [](const BlockRun& run) {
      Lines lines;
      for (const Record& r : run.records)
        if (r.mark == Mark::paused || r.mark == Mark::resumed) lines.push_back(describe(r, ""));
      return lines;
    };
    REQUIRE(pausing(waves) == pausing(blocks));
    pauses += static_cast<int>(pausing(waves).size());
  }
  CHECK(pauses > 0);
}

TEST_CASE("a horizon does not end a window before the blocks in it", "[time]") {
  // A: launched at 0, blocks from 10 to 110, over at 115. B: blocks from 125 on.
  Scenario scenario{.clients = {client("A", 0, 100), client("B", 0, 10'000)}};
  scenario.horizon = Time{1000};
  const Played played = play(scenario, "fcfs");
  CHECK(played.totals.makespan() == Duration{1000});
  CHECK(played.totals.utilisation() == Approx((100 + 875) / 1000.0));
  REQUIRE(played.jobs.size() == 2);
  CHECK(played.jobs[1].age() == Duration{1000});
  // Of a run that ends by itself, the window ends with its last job: B is over at 10'125 + 5.
  scenario.horizon = Time::max();
  CHECK(play(scenario, "fcfs").totals.makespan() == Duration{10'130});
}

TEST_CASE("turns of 4 ms between jobs of 5 ms, 5 s and 5 s use no more than the GPU in a second", "[time]") {
  Scenario scenario{
      .clients = {client("A", 0, 5'000'000), client("B", 0, 5'000'000'000), client("C", 0, 5'000'000'000)}};
  scenario.horizon = Time{1'000'000'000};
  const Played played = play(scenario, "{name: rr, params: {quantum: 4 ms}}");
  CHECK(played.totals.finished == 1);
  CHECK(played.totals.makespan() == 1_s);
  CHECK(played.totals.utilisation() > 0.99);
  CHECK(played.totals.utilisation() <= 1);
}

}  // namespace gangway::testing

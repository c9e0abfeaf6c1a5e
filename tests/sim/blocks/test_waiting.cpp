// How long native clients wait and devices are busy, worked out by hand.
#include "tests/catch.hpp"
#include "tests/sim/blocks/block_scenario.hpp"

namespace gangway::testing {
namespace {

const JobResult& job_of(const BlockRun& run, std::uint32_t client) {
  const auto found = std::find_if(run.jobs.begin(), run.jobs.end(),
                                  [&](const JobResult& j) { return j.id.client.index == client; });
  REQUIRE(found != run.jobs.end());
  return *found;
}

// Executing, copying, waiting.
using Split = std::vector<std::int64_t>;
Split split(const BlockRun& run, std::uint32_t client) {
  const JobResult& job = job_of(run, client);
  return {job.executing.ns, job.copying.ns, job.waiting().ns};
}

}  // namespace

TEST_CASE("off the device between time slices a client waits, and a switch is no work", "[blocks]") {
  Device device = pool(8);
  device.arbitration = Arbitration::timeslice;
  device.time_slice = TimeSlice{Duration{15}, Duration{3}};
  // A [0,20), a switch, B [23,43), a switch, A [46,66).
  const BlockRun run = run_on(device, {native("A", 0, 4, 8, 10), native("B", 0, 2, 8, 10)});
  CHECK(split(run, 0) == Split{40, 0, 26});
  CHECK(split(run, 1) == Split{20, 0, 23});
  CHECK(run.totals.makespan() == Duration{66});
  CHECK(run.totals.utilisation() == Approx(60.0 / 66));
}

TEST_CASE("a client whose blocks are displaced by a higher priority waits", "[blocks]") {
  Device device = pool(8);
  device.priorities = 2;
  Client urgent = native("B", 5, 2, 8, 10);
  urgent.priority = 1;
  // A [0,10), B [10,30), A [30,50).
  const BlockRun run = run_on(device, {native("A", 0, 3, 8, 10), urgent});
  CHECK(split(run, 0) == Split{30, 0, 20});
  CHECK(split(run, 1) == Split{20, 0, 5});
  CHECK(run.totals.utilisation() == Approx(1));
}

TEST_CASE("one block of several is enough to be on the device", "[blocks]") {
  Device device = pool(8);
  device.priorities = 2;
  Client urgent = native("B", 5, 3, 4, 10);
  urgent.priority = 1;
  // A's second block runs to 25 beside B, which has the other half of the device; A's third one comes at 25.
  Client slow = native("A", 0, 3, 4, 10);
  slow.kernels[0].exceptions = {{0, 1, Duration{25}}};
  const BlockRun run = run_on(device, {slow, urgent});
  CHECK(run.blocks == Lines{"A 0 [0,10) x1 on 0", "A 0 [0,25) x1 on 0", "B 0 [10,20) x1 on 0",
                            "B 0 [20,30) x1 on 0", "B 0 [25,35) x1 on 0", "A 0 [30,40) x1 on 0"});
  CHECK(split(run, 0) == Split{35, 0, 5});
}

TEST_CASE("a block has the device until its room is free, unless its kernel is over", "[blocks]") {
  Device device = pool(8);
  device.delays.block_end = Duration{2};
  // [0,10), [12,22).
  CHECK(split(run_on(device, {native("A", 0, 2, 8, 10)}), 0) == Split{22, 0, 0});
  device.arbitration = Arbitration::timeslice;
  device.time_slice = TimeSlice{Duration{5}, Duration{3}};
  // A [0,10), free at 12; B from 15 to 25, free at 27; A [30,40).
  const BlockRun run = run_on(device, {native("A", 0, 2, 8, 10), native("B", 0, 1, 8, 10)});
  CHECK(split(run, 0) == Split{22, 0, 18});
  CHECK(split(run, 1) == Split{10, 0, 15});
  CHECK(run.totals.utilisation() == Approx(32.0 / 40));
}

TEST_CASE("a job that copies while its blocks run executes", "[blocks]") {
  // Without C4 the kernel does not wait for the copy, which takes 20.
  const Device device = without(pool(8), Rule::C4);
  const BlockRun run = run_on(device, {with_copy_in(native("A", 0, 1, 8, 5), 20)});
  CHECK(split(run, 0) == Split{5, 15, 0});
}

TEST_CASE("a run that ends while a client is off the device", "[blocks]") {
  Device device = pool(8);
  device.arbitration = Arbitration::timeslice;
  device.time_slice = TimeSlice{Duration{15}, Duration{3}};
  const BlockRun run = run_blocks({.clients = {native("A", 0, 4, 8, 10), native("B", 0, 2, 8, 10)},
                                   .device = device,
                                   .horizon = Time{40}});
  // A [0,20), B [23,40).
  CHECK(run.totals.unfinished == 2);
  CHECK(run.totals.makespan() == Duration{40});
  CHECK(run.totals.utilisation() == Approx(37.0 / 40));
  CHECK(job_of(run, 0).executing == Duration{20});
}

TEST_CASE("evicted blocks that wait for room to leave are not on the device", "[blocks]") {
  // N has one of two SMs. P's launch has four blocks, of which two get the other one. When piv evicts it at
  // 10 for Q, H, most urgent of all, has their room until 60: P's other blocks wait to leave.
  Client p = native("P", 1, 40, 4, 1), q = native("Q", 10, 40, 4, 1), h = native("H", 9, 1, 8, 50);
  for (Client* client : {&p, &q}) {
    client->native = false;
    client->kernels[0].time = Duration{40};
    client->kernels[0].block_task_length = Duration{4};
  }
  q.priority = 1;
  h.priority = 2;
  Scenario scenario{.clients = {p, q, native("N", 0, 1, 8, 100), h}, .device = sms(2), .mechanism = "ideal"};
  scenario.device.priorities = 3;
  const BlockRun run = run_blocks(scenario, false, "piv");
  Lines lines;
  for (const Record& r : run.records)
    if (r.job.client.index == 0 && (r.mark == Mark::paused || r.mark == Mark::resumed))
      lines.push_back(std::to_string(r.time.ns) + " " + name_of(r.mark));
  CHECK(lines == Lines{"10 paused", "60 resumed"});
}

TEST_CASE("a launch whose work is done waits until all its blocks have had room", "[blocks]") {
  // With two of four blocks P's 40 ns take 80. At 81 the more urgent H takes their room, and P's other blocks
  // can leave only when N has.
  Client p = native("P", 1, 40, 4, 1), h = native("H", 79, 1, 8, 50);
  p.native = false;
  p.kernels[0].time = Duration{40};
  h.priority = 1;
  Scenario scenario{.clients = {p, native("N", 0, 1, 8, 100), h}, .device = sms(2), .mechanism = "ideal"};
  scenario.device.priorities = 2;
  const BlockRun run = run_blocks(scenario, false, "piv");
  CHECK(job_of(run, 0).finish == Time{100});
  CHECK(split(run, 0) == Split{80, 0, 19});
}

}  // namespace gangway::testing

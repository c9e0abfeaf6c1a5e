// What devices do beyond the papers' rules, as their files tell: each alone decides, at the instant at which
// it lets go and not before.
#include "tests/catch.hpp"
#include "tests/sim/blocks/block_scenario.hpp"

namespace gangway::testing {
namespace {

constexpr Duration operator""_t(unsigned long long ns) { return {static_cast<std::int64_t>(ns)}; }

// Copies of n bytes take n ns.
Client copies(const std::string& name, std::int64_t arrive, std::int64_t in, std::int64_t out) {
  return with_copy_out(with_copy_in(native(name, arrive, 1, 1, 4), in), out);
}

}  // namespace

TEST_CASE("threads are given out in warps", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 1, 5, 10), native("B", 1, 1, 3, 10)};
  Device device = sms(1);
  CHECK(times(run_on(device, clients), 1) == Interval{1, 11});
  device.sm.warp = 4;  // A has all eight
  const BlockRun run = run_on(device, clients);
  CHECK(times(run, 1) == Interval{10, 20});
  CHECK(held(run, "1 B RTSS17.R2"));
  device.sm.warp = 8;
  device.sm.threads = 16;
  CHECK(times(run_on(device, clients), 1) == Interval{1, 11});
}

TEST_CASE("registers are given out to whole warps", "[blocks]") {
  std::vector<Client> clients{native("A", 0, 1, 3, 10), native("B", 1, 1, 3, 10)};
  clients[0].kernels[0].registers = 8;  // 24 or 32 of 64
  clients[1].kernels[0].registers = 9;  // 27 or 36
  Device device = sms(1);
  CHECK(times(run_on(device, clients), 1) == Interval{1, 11});
  device.sm.warp = 4;
  CHECK(times(run_on(device, clients), 1) == Interval{10, 20});
  clients[1].kernels[0].registers = 8;
  CHECK(times(run_on(device, clients), 1) == Interval{1, 11});
}

TEST_CASE("a block takes reserved shared memory beside its own", "[blocks]") {
  std::vector<Client> clients{native("A", 0, 1, 1, 10), native("B", 1, 1, 1, 10)};
  clients[0].kernels[0].shared_memory = Bytes{8};
  clients[1].kernels[0].shared_memory = Bytes{4};  // 16 in all with 2 for each
  Device device = sms(1);
  device.sm.reserved_shared_memory = Bytes{2};
  CHECK(times(run_on(device, clients), 1) == Interval{1, 11});
  clients[1].kernels[0].shared_memory = Bytes{5};
  const BlockRun run = run_on(device, clients);
  CHECK(times(run, 1) == Interval{10, 20});
  CHECK(held(run, "1 B RTSS17.R3"));
  // Blocks that ask for none take it, too: three of 5 bytes fit.
  device.sm.reserved_shared_memory = Bytes{5};
  CHECK(run_on(device, {native("C", 0, 4, 1, 10)}).blocks ==
        Lines{"C 0 [0,10) x3 on 0", "C 0 [10,20) x1 on 0"});
}

TEST_CASE("among equals the SM that the device names first takes a block", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 1, 1, 10), native("B", 1, 1, 1, 10),
                                    native("C", 2, 4, 1, 10)};
  Device device = sms(3);
  device.sm_order = {2, 0, 1};
  CHECK(run_on(device, clients).blocks == Lines{"A 0 [0,10) x1 on 2", "B 0 [1,11) x1 on 0",
                                                "C 0 [2,12) x1 on 0", "C 0 [2,12) x2 on 1",
                                                "C 0 [2,12) x1 on 2"});
  device.placement = Placement::lowest_index_first;
  CHECK(run_on(device, clients).blocks ==
        Lines{"A 0 [0,10) x1 on 2", "B 0 [1,11) x1 on 2", "C 0 [2,12) x2 on 0", "C 0 [2,12) x2 on 2"});
}

TEST_CASE("K1: no more than so many kernels are resident", "[blocks]") {
  // A has two waves, in which it is one kernel.
  const std::vector<Client> clients{native("A", 0, 2, 5, 10), native("B", 1, 1, 1, 5),
                                    native("C", 2, 1, 1, 10)};
  for (Device device : {pool(8), sms(1)}) {
    CHECK(times(run_on(device, clients), 2) == Interval{10, 20});
    device.resident_kernels = 2;
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 0) == Interval{0, 20});
    CHECK(times(run, 1) == Interval{10, 15});
    CHECK(times(run, 2) == Interval{15, 25});
    CHECK(held(run, "2 C CUDA.K1"));
    CHECK(times(run_on(without(device, Rule::K1), clients), 2) == Interval{10, 20});
  }
}

TEST_CASE("K1: the highest priority is let in first, when a kernel with waves left is done", "[blocks]") {
  std::vector<Client> clients{native("A", 0, 2, 8, 10), native("L", 1, 1, 1, 10), native("H", 2, 1, 1, 10)};
  clients[2].priority = 1;
  for (Device device : {pool(8), sms(1)}) {
    device.priorities = 2;
    device.resident_kernels = 1;
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 0) == Interval{0, 20});
    CHECK(times(run, 2) == Interval{20, 30});
    CHECK(times(run, 1) == Interval{30, 40});
    CHECK(held(run, "2 H CUDA.K1"));
    device.delays.block_end = 3_t;
    CHECK(times(run_on(device, clients), 2) == Interval{26, 36});
    CHECK(times(run_on(device, clients), 1) == Interval{39, 49});
    device.delays.block_end = 0_t;
    CHECK(times(run_on(without(device, Rule::K1), clients), 2) == Interval{10, 20});
  }
}

TEST_CASE("channels by turns: the one issued to longest ago is shared", "[blocks]") {
  // A and B each have a kernel that waits for its predecessor; B issues first, though it is the second
  // stream.
  const std::vector<Client> clients{with(native("A", 1, 1, 1, 10), grid(1, 1, 10)),
                                    with(native("B", 0, 1, 1, 20), grid(1, 1, 10)), native("C", 2, 1, 1, 10)};
  Device device = pool(8);
  device.channels = 2;
  CHECK(times(run_on(device, clients), 2) == Interval{11, 21});  // behind A's second kernel
  device.channel_assignment = ChannelAssignment::dynamic;
  const BlockRun run = run_on(device, clients);
  CHECK(times(run, 2) == Interval{20, 30});  // behind B's
  CHECK(held(run, "2 C RTAS24.B1"));
  CHECK(times(run_on(without(device, Rule::B1), clients), 2) == Interval{2, 12});
}

TEST_CASE("channels by turns: one in which nothing waits is taken first", "[blocks]") {
  std::vector<Client> clients{with(native("A", 0, 1, 1, 10), grid(1, 1, 10)), native("B", 1, 1, 1, 20),
                              native("C", 2, 1, 1, 10), native("D", 3, 1, 1, 10)};
  Device device = pool(8);
  device.channels = 2;
  CHECK(times(run_on(device, clients), 2) == Interval{10, 20});
  device.channel_assignment = ChannelAssignment::dynamic;
  const BlockRun run = run_on(device, clients);
  CHECK(times(run, 2) == Interval{2, 12});
  CHECK(times(run, 3) == Interval{3, 13});
  // What a stream issues while something of it waits stays in its channel: E's job at 4 is behind B's at 3.
  clients = {on_stream(with(native("A", 0, 1, 1, 10), grid(1, 1, 10)), "s"), native("B", 1, 1, 1, 2),
             on_stream(native("C", 3, 1, 1, 1), "s"), native("D", 4, 1, 1, 1)};
  CHECK(times(run_on(device, clients), 2) == Interval{20, 21});
  CHECK(times(run_on(device, clients), 3) == Interval{4, 5});
}

TEST_CASE("kernel_issue: a kernel joins its queue a while after its issue", "[blocks]") {
  for (Device device : {pool(8), sms(1)}) {
    device.delays.kernel_issue = 7_t;
    CHECK(times(run_on(device, {native("A", 2, 1, 1, 10)}), 0) == Interval{9, 19});
    // It passes while the stream is busy.
    const Client two = with(native("A", 0, 1, 1, 10), grid(1, 1, 10));
    CHECK(times(run_on(device, {two}), 0) == Interval{7, 27});
    // A copy does not wait for it.
    CHECK(times(run_on(device, {copies("A", 0, 3, 0)}), 0) == Interval{7, 11});
    CHECK(times(run_on(device, {copies("A", 0, 9, 0)}), 0) == Interval{9, 13});
  }
}

TEST_CASE("copy_issue: a copy begins a while after its issue", "[blocks]") {
  Device device = pool(8);
  device.delays.copy_issue = 3_t;
  CHECK(times(run_on(device, {copies("A", 0, 10, 0)}), 0) == Interval{13, 17});
  CHECK(times(run_on(device, {copies("A", 0, 0, 10)}), 0) == Interval{0, 14});
}

TEST_CASE("kernel_end: a kernel leaves its stream a while after its last block", "[blocks]") {
  for (Device device : {pool(8), sms(1)}) {
    device.delays.kernel_end = 2_t;
    const Client two = with(native("A", 0, 1, 1, 10), grid(1, 1, 10));
    CHECK(run_on(device, {two}).blocks == Lines{"A 0 [0,10) x1 on 0", "A 0 [12,22) x1 on 0"});
    // It is over, and others have its room, when its block ends.
    const std::vector<Client> clients{native("A", 0, 1, 8, 10), native("B", 1, 1, 1, 10),
                                      on_stream(native("N", 2, 1, 1, 10), kNullStream)};
    CHECK(times(run_on(device, clients), 0) == Interval{0, 10});
    CHECK(times(run_on(device, clients), 1) == Interval{10, 20});
    CHECK(times(run_on(device, clients), 2) == Interval{22, 32});
    CHECK(run_on(without(device, Rule::G4), {two}).blocks ==
          Lines{"A 0 [0,10) x1 on 0", "A 0 [0,10) x1 on 0"});
  }
}

TEST_CASE("copy_end: a copy leaves its stream a while after its end", "[blocks]") {
  Device device = pool(8);
  device.delays.copy_end = 4_t;
  const std::vector<Client> clients{copies("A", 0, 10, 0), copies("B", 1, 10, 0)};
  CHECK(times(run_on(device, clients), 0) == Interval{14, 18});
  CHECK(times(run_on(device, clients), 1) == Interval{24, 28});  // its copy began at 10
}

TEST_CASE("block_end: room is free a while after a block", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 2, 8, 10), native("B", 1, 1, 1, 10)};
  for (Device device : {pool(8), sms(1)}) {
    device.delays.block_end = 3_t;
    const BlockRun run = run_on(device, clients);
    CHECK(run.blocks == Lines{"A 0 [0,10) x1 on 0", "A 0 [13,23) x1 on 0", "B 0 [26,36) x1 on 0"});
    CHECK(times(run, 0) == Interval{0, 23});
  }
}

TEST_CASE("block_end counts in the time of a kernel of several waves", "[blocks]") {
  Device device = pool(8);
  device.delays.block_end = 3_t;
  Client client = native("A", 0, 4, 4, 1);
  client.kernels[0].block_task_length.reset();
  for (const std::int64_t time : {23, 22, 21}) {  // two waves of 10, 10 and 9
    client.kernels[0].time = Duration{time};
    const std::int64_t length = time == 21 ? 9 : 10;
    CHECK(times(run_on(device, {client}), 0) == Interval{0, 2 * length + 3});
  }
  client.kernels[0].time = 2_t;
  CHECK(times(run_on(device, {client}), 0) == Interval{0, 5});  // blocks of 1 ns at least
  CHECK(time_of_waves(device, client.kernels[0], 10_t) == 23_t);
}

TEST_CASE("queued_latency: of a copy that begins when another ends", "[blocks]") {
  Device device = pool(8);
  device.h2d.latency = 5_t;
  device.h2d.queued_latency = 1_t;
  const std::vector<Client> clients{copies("A", 0, 10, 0), copies("B", 1, 10, 0), copies("C", 27, 10, 0)};
  const BlockRun run = run_on(device, clients);
  CHECK(times(run, 0) == Interval{15, 19});
  CHECK(times(run, 1) == Interval{26, 30});
  CHECK(times(run, 2) == Interval{42, 46});
}

TEST_CASE("both_ways: a copy is slower while the other direction copies", "[blocks]") {
  // B's kernel is over at 4; then it copies out until 14. Four of A's ten are done by then, and half of ten
  // more.
  const std::vector<Client> clients{copies("A", 0, 10, 0), copies("B", 0, 0, 10)};
  Device device = pool(8);
  CHECK(times(run_on(device, clients), 0) == Interval{10, 14});
  device.h2d.both_ways = 0.5;
  const BlockRun run = run_on(device, clients);
  CHECK(times(run, 0) == Interval{15, 19});
  CHECK(times(run, 1) == Interval{0, 14});
  device.d2h.both_ways = 0.25;  // out: a quarter each ns, from 4 to 16, then 7 alone
  CHECK(times(run_on(device, clients), 0) == Interval{16, 20});
  CHECK(times(run_on(device, clients), 1) == Interval{0, 23});
}

}  // namespace gangway::testing

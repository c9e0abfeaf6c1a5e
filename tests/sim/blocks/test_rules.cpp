// A rule per test: a case in which it alone decides, at the instant at which it lets go and not before, and
// what happens without it. Devices are a pool of 8 threads and an SM of 8 threads and 4 block slots.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/sim/blocks/block_scenario.hpp"

namespace gangway::testing {
namespace {

Client at_priority(Client client, std::int32_t priority) {
  client.priority = priority;
  return client;
}
// The layouts for which a rule about queues must hold alike.
const std::vector<Device>& layouts() {
  static const std::vector<Device> both{pool(8), sms(1)};
  return both;
}

}  // namespace

TEST_CASE("X1 (YA.R1): nobody passes a head that has no room", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 1, 6, 10), native("B", 1, 1, 4, 10),
                                    native("C", 2, 1, 2, 10)};
  for (const Device& device : layouts()) {
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 1) == Interval{10, 20});
    CHECK(times(run, 2) == Interval{10, 20});
    CHECK(held(run, "1 B RTSS17.R2"));
    CHECK(held(run, "2 C RTSS17.X1"));
    CHECK(times(run_on(without(device, Rule::X1), clients), 2) == Interval{2, 12});
  }
}

TEST_CASE("G1: all of a job's operations are issued at its release", "[blocks]") {
  // One channel: what B issues is behind what A has issued.
  const std::vector<Client> clients{with(native("A", 0, 1, 1, 10), grid(1, 1, 10)), native("B", 1, 1, 1, 10)};
  for (Device device : layouts()) {
    device.channels = 1;
    CHECK(times(run_on(device, clients), 1) == Interval{10, 20});
    CHECK(times(run_on(without(device, Rule::G1), clients), 1) == Interval{1, 11});
  }
}

TEST_CASE("G2 (YA.R2): a kernel queues when it is its stream's head", "[blocks]") {
  // A's second kernel queues at 10, after B did at 5; both need all threads.
  const std::vector<Client> clients{with(native("A", 0, 1, 8, 10), grid(1, 8, 10)), native("B", 5, 1, 8, 10)};
  for (const Device& device : layouts()) {
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 1) == Interval{10, 20});
    CHECK(times(run, 0) == Interval{0, 30});
    const BlockRun off = run_on(without(device, Rule::G2), clients);
    CHECK(times(off, 0) == Interval{0, 20});
    CHECK(times(off, 1) == Interval{20, 30});
  }
}

TEST_CASE("G3: a kernel leaves the primary queue when all its blocks are assigned", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 2, 1, 10), native("B", 1, 1, 1, 10)};
  for (const Device& device : layouts()) {
    CHECK(times(run_on(device, clients), 1) == Interval{1, 11});
    CHECK(times(run_on(without(device, Rule::G3), clients), 1) == Interval{10, 20});
  }
  // Six threads at a time: the third and fourth block of A are assigned at 10, and only then B may be.
  const std::vector<Client> waves{native("A", 0, 4, 3, 10), native("B", 1, 1, 2, 10)};
  for (const Device& device : layouts()) CHECK(times(run_on(device, waves), 1) == Interval{10, 20});
}

TEST_CASE("G4: a kernel leaves its stream when all its blocks have ended", "[blocks]") {
  const std::vector<Client> clients{with(native("A", 0, 2, 1, 10), grid(1, 1, 3))};
  for (const Device& device : layouts()) {
    CHECK(times(run_on(device, clients), 0) == Interval{0, 13});
    CHECK(times(run_on(without(device, Rule::G4), clients), 0) == Interval{0, 10});
  }
}

TEST_CASE("R1: a block slot on some SM", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 4, 1, 10), native("B", 1, 1, 1, 10)};
  const BlockRun run = run_on(sms(1), clients);
  CHECK(times(run, 1) == Interval{10, 20});
  CHECK(held(run, "1 B RTSS17.R1"));
  CHECK(times(run_on(without(sms(1), Rule::R1), clients), 1) == Interval{1, 11});
  CHECK(times(run_on(pool(8), clients), 1) == Interval{1, 11});  // a pool has no slots
}

TEST_CASE("R2: threads", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 1, 7, 10), native("B", 1, 1, 2, 10),
                                    native("C", 20, 1, 1, 1)};
  for (const Device& device : layouts()) {
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 1) == Interval{10, 20});
    CHECK(held(run, "1 B RTSS17.R2"));
    CHECK(times(run_on(without(device, Rule::R2), clients), 1) == Interval{1, 11});
  }
}

TEST_CASE("R2: all of a block's threads on one SM", "[blocks]") {
  // Three threads are free on each of two SMs, six in a pool.
  const std::vector<Client> clients{native("A", 0, 2, 5, 10), native("B", 1, 1, 4, 10)};
  CHECK(times(run_on(sms(2), clients), 1) == Interval{10, 20});
  CHECK(times(run_on(pool(16), clients), 1) == Interval{1, 11});
}

TEST_CASE("R3: shared memory and registers of one SM", "[blocks]") {
  std::vector<Client> clients{native("A", 0, 1, 1, 10), native("B", 1, 1, 1, 10)};
  clients[0].kernels[0].shared_memory = Bytes{10};
  SECTION("exactly as much as is free is enough") {
    clients[1].kernels[0].shared_memory = Bytes{6};
    CHECK(times(run_on(sms(1), clients), 1) == Interval{1, 11});
  }
  SECTION("a byte more is not") {
    clients[1].kernels[0].shared_memory = Bytes{7};
    const BlockRun run = run_on(sms(1), clients);
    CHECK(times(run, 1) == Interval{10, 20});
    CHECK(held(run, "1 B RTSS17.R3"));
    CHECK(times(run_on(without(sms(1), Rule::R3), clients), 1) == Interval{1, 11});
  }
  SECTION("registers likewise, of all threads of the block") {
    clients[0].kernels[0].registers = 40;
    clients[1].kernels[0].registers = 24;
    CHECK(times(run_on(sms(1), clients), 1) == Interval{1, 11});
    clients[1].kernels[0].registers = 25;
    CHECK(times(run_on(sms(1), clients), 1) == Interval{10, 20});
    CHECK(times(run_on(without(sms(1), Rule::R3), clients), 1) == Interval{1, 11});
  }
}

TEST_CASE("A1: a kernel queues by its stream's priority", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 1, 8, 10), native("B", 1, 1, 8, 10),
                                    at_priority(native("C", 2, 1, 8, 10), 1)};
  for (Device device : layouts()) {
    device.priorities = 2;
    CHECK(times(run_on(device, clients), 2) == Interval{10, 20});
    CHECK(times(run_on(device, clients), 1) == Interval{20, 30});
    CHECK(times(run_on(without(device, Rule::A1), clients), 1) == Interval{10, 20});
    device.priorities = 1;
    CHECK(times(run_on(device, clients), 1) == Interval{10, 20});
  }
}

TEST_CASE("A2: a queue waits for all above it, even if these have no room", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 1, 6, 10), at_priority(native("H", 1, 1, 4, 10), 1),
                                    native("L", 2, 1, 2, 10)};
  for (Device device : layouts()) {
    device.priorities = 2;
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 1) == Interval{10, 20});
    CHECK(times(run, 2) == Interval{10, 20});
    CHECK(held(run, "2 L RTSS17.A2"));
    CHECK(times(run_on(without(device, Rule::A2), clients), 2) == Interval{2, 12});
  }
}

TEST_CASE("C1: a copy queues when it is its stream's head", "[blocks]") {
  const std::vector<Client> clients{on_stream(with_copy_in(native("A", 0, 1, 1, 10), 10), "s"),
                                    on_stream(with_copy_in(native("B", 0, 1, 1, 10), 10), "s")};
  for (const Device& device : layouts()) {
    CHECK(times(run_on(device, clients), 1) == Interval{30, 40});
    CHECK(times(run_on(without(device, Rule::C1), clients), 1) == Interval{20, 30});
  }
}

TEST_CASE("C2: an engine carries out one copy at a time, in order", "[blocks]") {
  const std::vector<Client> clients{with_copy_in(native("A", 0, 1, 1, 10), 10),
                                    with_copy_in(native("B", 0, 1, 1, 10), 10)};
  for (const Device& device : layouts()) {
    CHECK(times(run_on(device, clients), 0) == Interval{10, 20});
    CHECK(times(run_on(device, clients), 1) == Interval{20, 30});
    CHECK(times(run_on(without(device, Rule::C2), clients), 1) == Interval{10, 20});
  }
}

TEST_CASE("C3: a copy leaves its engine's queue when it begins", "[blocks]") {
  const std::vector<Client> clients{with_copy_in(native("A", 3, 1, 1, 10), 10)};
  const auto leaves = [&](const Device& device) {
    for (const Record& r : run_on(device, clients).records)
      if (r.mark == Mark::dequeued && r.copy) return r.time.ns;
    return std::int64_t{-1};
  };
  for (const Device& device : layouts()) {
    CHECK(leaves(device) == 3);
    CHECK(leaves(without(device, Rule::C3)) == 13);
  }
}

TEST_CASE("C4: a copy leaves its stream when it has ended", "[blocks]") {
  const std::vector<Client> clients{with_copy_in(native("A", 0, 1, 1, 5), 10)};
  for (const Device& device : layouts()) {
    CHECK(times(run_on(device, clients), 0) == Interval{10, 15});
    CHECK(times(run_on(without(device, Rule::C4), clients), 0) == Interval{0, 10});
  }
}

TEST_CASE("N1: the NULL stream waits for what was issued before to the others", "[blocks]") {
  const std::vector<Client> clients{
      native("A", 0, 1, 1, 10), on_stream(native("N", 1, 1, 1, 10), kNullStream), native("B", 30, 1, 1, 10)};
  for (const Device& device : layouts()) {
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 1) == Interval{10, 20});
    CHECK(held(run, "1 N RTSS17.N1"));
    CHECK(times(run_on(without(device, Rule::N1), clients), 1) == Interval{1, 11});
  }
}

TEST_CASE("N2: the others wait for what was issued before to the NULL stream", "[blocks]") {
  const std::vector<Client> clients{on_stream(native("N", 0, 1, 1, 10), kNullStream),
                                    native("B", 1, 1, 1, 10)};
  for (const Device& device : layouts()) {
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 1) == Interval{10, 20});
    CHECK(held(run, "1 B RTSS17.N2"));
    CHECK(times(run_on(without(device, Rule::N2), clients), 1) == Interval{1, 11});
  }
}

TEST_CASE("B1: streams of one channel join queues in the order of issue", "[blocks]") {
  const std::vector<Client> clients{with(native("A", 0, 1, 1, 10), grid(1, 1, 10)), native("B", 1, 1, 1, 10),
                                    native("C", 1, 1, 1, 10)};
  for (Device device : layouts()) {
    CHECK(times(run_on(device, clients), 2) == Interval{1, 11});
    device.channels = 2;  // A and C share one
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 1) == Interval{1, 11});
    CHECK(times(run, 2) == Interval{10, 20});
    CHECK(held(run, "1 C RTAS24.B1"));
    CHECK(times(run_on(without(device, Rule::B1), clients), 2) == Interval{1, 11});
  }
}

TEST_CASE("P1: in a queue of all that is released, an unready head blocks", "[blocks]") {
  std::vector<Client> clients{native("A", 0, 1, 2, 10), native("B", 2, 1, 2, 10)};
  clients[0].arrive.reset();
  clients[0].repeat.jobs = 2;
  clients[0].repeat.releases = {Duration{0}, Duration{1}};
  for (Device device : layouts()) {
    for (const QueueOrder order : {QueueOrder::became_head, QueueOrder::release_ready}) {
      device.queue_order = order;
      CHECK(times(run_on(device, clients), 1) == Interval{2, 12});
    }
    device.queue_order = QueueOrder::release_all;
    const BlockRun run = run_on(device, clients);
    CHECK(times(run, 1) == Interval{10, 20});
    CHECK(held(run, "1 A YA.P1"));
  }
}

TEST_CASE("the primary queue by release puts an older job in front when it becomes ready", "[blocks]") {
  // A's second job is released before B and ready after it; F leaves two threads.
  std::vector<Client> clients{native("A", 0, 1, 2, 10), native("F", 0, 1, 6, 30), native("B", 2, 1, 2, 10)};
  clients[0].arrive.reset();
  clients[0].repeat.jobs = 2;
  clients[0].repeat.releases = {Duration{0}, Duration{1}};
  for (Device device : layouts()) {
    CHECK(times(run_on(device, clients), 2) == Interval{10, 20});
    CHECK(times(run_on(device, clients), 0, 1) == Interval{20, 30});
    device.queue_order = QueueOrder::release_ready;
    CHECK(times(run_on(device, clients), 0, 1) == Interval{10, 20});
    CHECK(times(run_on(device, clients), 2) == Interval{20, 30});
  }
}

TEST_CASE("placement: most room first, or the lowest index", "[blocks]") {
  const std::vector<Client> clients{native("A", 0, 1, 1, 10), native("B", 1, 3, 1, 10)};
  Device device = sms(2);
  CHECK(run_on(device, clients).blocks ==
        Lines{"A 0 [0,10) x1 on 0", "B 0 [1,11) x1 on 0", "B 0 [1,11) x2 on 1"});
  device.placement = Placement::lowest_index_first;
  CHECK(run_on(device, clients).blocks == Lines{"A 0 [0,10) x1 on 0", "B 0 [1,11) x3 on 0"});
}

TEST_CASE("Yang and Anderson's Example 1: each kernel where Figure 2 has it", "[blocks]") {
  std::vector<Client> clients{native("tau_1", 0, 1, 1024, 38), native("tau_2", 0, 7, 512, 60),
                              native("tau_3", 0, 1, 1024, 60), native("tau_4", 2, 5, 512, 112)};
  clients[0].arrive.reset();
  clients[0].repeat.jobs = 2;
  clients[0].repeat.releases = {Duration{0}, Duration{2}};
  const BlockRun run = run_on(pool(4096), clients);
  CHECK(run.blocks == Lines{"tau_1 0 [0,38) x1 on 0", "tau_2 0 [0,60) x6 on 0", "tau_2 0 [38,98) x1 on 0",
                            "tau_3 0 [60,120) x1 on 0", "tau_4 0 [60,172) x5 on 0",
                            "tau_1 1 [120,158) x1 on 0"});
}

}  // namespace gangway::testing

// native-timeslice, worked out by hand from sim/blocks/README.md.
#include "tests/catch.hpp"
#include "tests/sim/blocks/block_scenario.hpp"

namespace gangway::testing {
namespace {

// Eight threads; slices of 15 ns, 3 ns from one context to the next.
Device sliced() {
  Device device = pool(8);
  device.arbitration = Arbitration::timeslice;
  device.time_slice = TimeSlice{Duration{15}, Duration{3}};
  return device;
}

// Likewise, by the contexts' creation.
Device in_a_ring() {
  Device device = sliced();
  device.time_slice->order = TimeSlice::Order::creation;
  return device;
}

Lines blocks(const std::vector<Client>& clients, const Device& device) {
  const Scenario scenario{.clients = clients, .device = device};
  Lines cohorts = run_blocks(scenario, false, "passthrough").blocks;
  CHECK(run_blocks(scenario, true, "passthrough").blocks == cohorts);
  return cohorts;
}

Client in(Client client, const std::string& context) {
  client.context = context;
  return client;
}

}  // namespace

TEST_CASE("time slices: running blocks drain, then the next context has its turn", "[blocks]") {
  // At 15 A's second block runs: it ends at 20, and B begins at 23. At 38 B's second one runs until 43.
  CHECK(blocks({native("A", 0, 4, 8, 10), native("B", 0, 2, 8, 10)}, sliced()) ==
        Lines{"A 0 [0,10) x1 on 0", "A 0 [10,20) x1 on 0", "B 0 [23,33) x1 on 0", "B 0 [33,43) x1 on 0",
              "A 0 [46,56) x1 on 0", "A 0 [56,66) x1 on 0"});
}

TEST_CASE("time slices that stop blocks: these go on where they were, when their context has its next turn",
          "[blocks]") {
  Device device = sliced();
  device.time_slice->stops_blocks = true;
  device.time_slice->stop = device.time_slice->stop_full = Duration{2};
  device.time_slice->resume = device.time_slice->resume_full = Duration{1};
  const Client b = native("B", 0, 1, 8, 10);
  SECTION("one block") {
    // 5 ns after A's turn, B begins; 4 ns after B's end, A goes on: nobody else comes.
    CHECK(blocks({native("A", 0, 1, 8, 40), b}, device) ==
          Lines{"A 0 [0,15) x1 on 0", "B 0 [20,30) x1 on 0", "A 0 [34,59) x1 on 0"});
  }
  SECTION("waves") {
    CHECK(blocks({native("A", 0, 4, 8, 10), b}, device) ==
          Lines{"A 0 [0,10) x1 on 0", "A 0 [10,15) x1 on 0", "B 0 [20,30) x1 on 0", "A 0 [34,39) x1 on 0",
                "A 0 [39,49) x1 on 0", "A 0 [49,59) x1 on 0"});
  }
  SECTION("a block that ends with the turn has ended, and nothing is stopped or resumed") {
    CHECK(blocks({native("A", 0, 2, 8, 15), b}, device) ==
          Lines{"A 0 [0,15) x1 on 0", "B 0 [18,28) x1 on 0", "A 0 [31,46) x1 on 0"});
  }
  SECTION("both, again and again") {
    CHECK(blocks({native("A", 0, 1, 8, 20), native("B", 0, 1, 8, 20)}, device) ==
          Lines{"A 0 [0,15) x1 on 0", "B 0 [20,35) x1 on 0", "A 0 [41,46) x1 on 0", "B 0 [50,55) x1 on 0"});
  }
  SECTION("a turn contains what resuming takes") {
    // A's second turn is from 40 to 55, and its block goes on at 41; B's from 60 to 75, its block at 61.
    CHECK(blocks({native("A", 0, 1, 8, 40), native("B", 0, 1, 8, 40)}, device) ==
          Lines{"A 0 [0,15) x1 on 0", "B 0 [20,35) x1 on 0", "A 0 [41,55) x1 on 0", "B 0 [61,75) x1 on 0",
                "A 0 [81,92) x1 on 0", "B 0 [96,107) x1 on 0"});
  }
  SECTION("registers count as well, where the device has any") {
    // A has all threads and half of the registers, 3/4 on the mean; B half of both.
    const TimeSlice slice = *device.time_slice;
    device = sms(1);
    device.sm = {8, 4, 160, Bytes{1}};
    device.arbitration = Arbitration::timeslice;
    device.time_slice = slice;
    device.time_slice->stop_full = Duration{10};
    device.time_slice->resume_full = Duration{9};
    Client a = native("A", 0, 1, 8, 20), half = native("B", 0, 1, 4, 20);
    a.kernels[0].registers = 10;
    half.kernels[0].registers = 20;
    // A stops in 2 + 6, resumes in 1 + 6; B stops in 2 + 4, resumes in 1 + 4.
    CHECK(blocks({a, half}, device) ==
          Lines{"A 0 [0,15) x1 on 0", "B 0 [26,41) x1 on 0", "A 0 [57,62) x1 on 0", "B 0 [70,75) x1 on 0"});
  }
  SECTION("more threads take longer") {
    // A has four of eight threads, B all: A stops in 2 + 6 / 2 ns, B in 8, A resumes in 1 + 1 / 2 ns.
    device.time_slice->stop_full = Duration{8};
    device.time_slice->resume_full = Duration{2};
    CHECK(blocks({native("A", 0, 1, 4, 20), native("B", 0, 1, 8, 20)}, device) ==
          Lines{"A 0 [0,15) x1 on 0", "B 0 [23,38) x1 on 0", "A 0 [50,55) x1 on 0", "B 0 [60,65) x1 on 0"});
  }
  SECTION("the trace says who is stopped") {
    const BlockRun run = run_blocks(Scenario{.clients = {native("A", 0, 1, 8, 40), b}, .device = device},
                                    false, "passthrough");
    std::vector<std::pair<Mark, std::int64_t>> seen;
    for (const Record& r : run.records)
      if (r.mark == Mark::paused || r.mark == Mark::resumed) seen.push_back({r.mark, r.time.ns});
    CHECK(seen == std::vector<std::pair<Mark, std::int64_t>>{{Mark::paused, 15}, {Mark::resumed, 34}});
  }
}

TEST_CASE("time slices: under MPS contexts share the device as if they were one", "[blocks]") {
  // A fills it twice. B follows at once, without a switch.
  Device device = sliced();
  device.arbitration = Arbitration::mps;
  CHECK(blocks({native("A", 0, 2, 8, 10), native("B", 0, 1, 8, 10)}, device) ==
        Lines{"A 0 [0,10) x1 on 0", "A 0 [10,20) x1 on 0", "B 0 [20,30) x1 on 0"});
}

TEST_CASE("time slices: who is alone runs on", "[blocks]") {
  CHECK(blocks({native("A", 0, 4, 8, 10)}, sliced()) ==
        Lines{"A 0 [0,10) x1 on 0", "A 0 [10,20) x1 on 0", "A 0 [20,30) x1 on 0", "A 0 [30,40) x1 on 0"});
  const Client b = native("B", 31, 1, 8, 10);
  SECTION("and one that comes waits for the end of the slice then") {
    // Slices end at 15, 30, 45: B comes at 31, A's blocks end at 40 and 50.
    CHECK(blocks({native("A", 0, 6, 8, 10), b}, sliced()) ==
          Lines{"A 0 [0,10) x1 on 0", "A 0 [10,20) x1 on 0", "A 0 [20,30) x1 on 0", "A 0 [30,40) x1 on 0",
                "A 0 [40,50) x1 on 0", "B 0 [53,63) x1 on 0", "A 0 [66,76) x1 on 0"});
  }
  SECTION("or, by creation, only if another kernel waits for its own end") {
    // A's second kernel begins after its first. B was on the device, so slices end at 18, 33, 48; it comes
    // at 34.
    Client a = native("A", 0, 6, 8, 10);
    a.kernels.push_back(native("", 0, 1, 8, 10).kernels[0]);
    const Client later = native("B", 34, 1, 8, 10);
    CHECK(blocks({a, later}, in_a_ring()) ==
          Lines{"A 0 [3,13) x1 on 0", "A 0 [13,23) x1 on 0", "A 0 [23,33) x1 on 0", "A 0 [33,43) x1 on 0",
                "A 0 [43,53) x1 on 0", "B 0 [56,66) x1 on 0", "A 0 [69,79) x1 on 0", "A 0 [79,89) x1 on 0"});
    // It has none: its turn is over at 18, and its block ends at 43.
    CHECK(blocks({native("A", 0, 6, 8, 10), later}, in_a_ring()) ==
          Lines{"A 0 [3,13) x1 on 0", "A 0 [13,23) x1 on 0", "A 0 [23,33) x1 on 0", "A 0 [33,43) x1 on 0",
                "B 0 [46,56) x1 on 0", "A 0 [59,69) x1 on 0", "A 0 [69,79) x1 on 0"});
  }
}

TEST_CASE("time slices: contexts come in the order in which they began to wait", "[blocks]") {
  // C comes while B has its turn: A has waited since 15.
  CHECK(blocks({native("A", 0, 4, 8, 10), native("B", 0, 2, 8, 10), native("C", 30, 1, 8, 10)}, sliced()) ==
        Lines{"A 0 [0,10) x1 on 0", "A 0 [10,20) x1 on 0", "B 0 [23,33) x1 on 0", "B 0 [33,43) x1 on 0",
              "A 0 [46,56) x1 on 0", "A 0 [56,66) x1 on 0", "C 0 [69,79) x1 on 0"});
}

TEST_CASE("time slices by creation: the last context is on the device before the run", "[blocks]") {
  const Client a = native("A", 0, 1, 8, 10), b = native("B", 0, 1, 8, 10);
  CHECK(blocks({a, b}, in_a_ring()) == Lines{"B 0 [0,10) x1 on 0", "A 0 [13,23) x1 on 0"});
}

TEST_CASE("time slices by creation: who follows is known when a turn begins", "[blocks]") {
  const Client a = native("A", 0, 4, 8, 10), b = native("B", 0, 2, 8, 10);
  // A's turn begins at 3, B's at 26. A follows B though C is next in the ring, which comes later.
  CHECK(blocks({a, b, native("C", 27, 1, 8, 10)}, in_a_ring()) ==
        Lines{"A 0 [3,13) x1 on 0", "A 0 [13,23) x1 on 0", "B 0 [26,36) x1 on 0", "B 0 [36,46) x1 on 0",
              "A 0 [49,59) x1 on 0", "A 0 [59,69) x1 on 0", "C 0 [72,82) x1 on 0"});
  // In that instant it does not come too late, though A has waited for longer.
  CHECK(blocks({a, b, native("C", 26, 1, 8, 10)}, in_a_ring()) ==
        Lines{"A 0 [3,13) x1 on 0", "A 0 [13,23) x1 on 0", "B 0 [26,36) x1 on 0", "B 0 [36,46) x1 on 0",
              "C 0 [49,59) x1 on 0", "A 0 [62,72) x1 on 0", "A 0 [72,82) x1 on 0"});
}

TEST_CASE("time slices by creation: who follows is found when a turn ends, if kernels are queued",
          "[blocks]") {
  // B's second kernel waits. So C follows, though it comes while B has its turn, from 26 on, and A waits.
  const Client a = native("A", 0, 4, 8, 10);
  Client b = native("B", 0, 2, 8, 10);
  b.kernels.push_back(native("", 0, 1, 8, 10).kernels[0]);
  CHECK(blocks({a, b, native("C", 40, 1, 8, 10)}, in_a_ring()) ==
        Lines{"A 0 [3,13) x1 on 0", "A 0 [13,23) x1 on 0", "B 0 [26,36) x1 on 0", "B 0 [36,46) x1 on 0",
              "C 0 [49,59) x1 on 0", "A 0 [62,72) x1 on 0", "A 0 [72,82) x1 on 0", "B 0 [85,95) x1 on 0"});
}

TEST_CASE("time slices by creation: the first that comes after a turn has begun follows", "[blocks]") {
  const Client b = native("B", 5, 1, 8, 10), c = native("C", 4, 1, 8, 10);
  CHECK(blocks({native("A", 0, 2, 8, 10), b, c}, in_a_ring()) ==
        Lines{"A 0 [3,13) x1 on 0", "A 0 [13,23) x1 on 0", "C 0 [26,36) x1 on 0", "B 0 [39,49) x1 on 0"});
  // From C on, A is next in the ring.
  CHECK(blocks({native("A", 0, 4, 8, 10), b, c}, in_a_ring()) ==
        Lines{"A 0 [3,13) x1 on 0", "A 0 [13,23) x1 on 0", "C 0 [26,36) x1 on 0", "A 0 [39,49) x1 on 0",
              "A 0 [49,59) x1 on 0", "B 0 [62,72) x1 on 0"});
}

TEST_CASE("time slices: a context that has nothing to do yields at once", "[blocks]") {
  CHECK(blocks({native("A", 0, 1, 8, 10), native("B", 2, 1, 8, 10)}, sliced()) ==
        Lines{"A 0 [0,10) x1 on 0", "B 0 [13,23) x1 on 0"});
  // From an idle device, too, another context has to be switched to.
  CHECK(blocks({native("A", 0, 1, 8, 10), native("B", 50, 1, 8, 10)}, sliced()) ==
        Lines{"A 0 [0,10) x1 on 0", "B 0 [53,63) x1 on 0"});
  CHECK(blocks({native("A", 5, 1, 8, 10), native("B", 0, 1, 8, 10)}, sliced()) ==
        Lines{"B 0 [0,10) x1 on 0", "A 0 [13,23) x1 on 0"});
}

TEST_CASE("time slices: contexts share nothing, clients of one context do", "[blocks]") {
  const Client a = native("A", 0, 1, 4, 10), b = native("B", 0, 1, 4, 10);
  CHECK(blocks({a, b}, sliced()) == Lines{"A 0 [0,10) x1 on 0", "B 0 [13,23) x1 on 0"});
  CHECK(blocks({in(a, "one"), in(b, "one")}, sliced()) == Lines{"A 0 [0,10) x1 on 0", "B 0 [0,10) x1 on 0"});
  Device off = sliced();
  off.rules.set(Rule::T1, false);
  CHECK(blocks({a, b}, off) == Lines{"A 0 [0,10) x1 on 0", "B 0 [0,10) x1 on 0"});
}

TEST_CASE("native-fifo: one queue, whatever the priorities", "[blocks]") {
  Device device = pool(8);
  device.priorities = 3;
  Client a = native("A", 0, 1, 8, 10), b = native("B", 1, 1, 8, 10), c = native("C", 2, 1, 8, 10);
  c.priority = 2;
  device.arbitration = Arbitration::fifo;
  CHECK(blocks({a, b, c}, device)[1] == "B 0 [10,20) x1 on 0");
  device.arbitration = Arbitration::priority;
  CHECK(blocks({a, b, c}, device)[1] == "C 0 [10,20) x1 on 0");
}

}  // namespace gangway::testing

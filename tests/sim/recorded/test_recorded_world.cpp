// Hand-worked schedules of recorded programs (sim/recorded/README.md).
#include "tests/catch.hpp"
#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {
namespace {

using recording::MemoryKind;
using recording::OrderKind;
using recording::Recording;
using recording::StreamKind;
using recording::Transfer;
using Jobs = std::vector<std::string>;

// A kernel that is submitted at 0, runs from 10 for `length`, and is waited for until 2 later.
Recording one_kernel(std::int64_t length) {
  MadeRecording m;
  const auto s = m.stream();
  m.kernel(s, 0, 10, length);
  m.wait(OrderKind::stream, s, 6, length + 6);
  return m.r;
}

}  // namespace

TEST_CASE("a program alone is played as it was recorded", "[recorded]") {
  // Two streams and an event, a copy that the host waits for, and what it does between jobs.
  MadeRecording m;
  const auto a = m.stream(), b = m.stream();
  for (std::int64_t at : {0, 1'000}) {
    m.kernel(a, at, at + 10, 100);
    const auto recorded = m.record(a, at + 6);
    m.wait_event(b, recorded, at + 8);
    m.kernel(b, at + 10, at + 112, 50);  // 2 behind the event
    m.copy(b, at + 20, at + 170, 30, {Bytes{100}, MemoryKind::device, MemoryKind::pageable, false});
    m.r.calls.back().length = Duration{190};
  }
  RecordedScenario s;
  s.client("A", m.r);
  s.play();
  CHECK(s.jobs[0] == "0-210 1000-1210");

  SECTION("kernels of twice the length: the copy follows them, and the host goes on 10 behind it") {
    s.recorded(0).kernel_scale = 2;
    s.play();
    // 10 to 210, event; 212 to 312; the copy 8 behind: 320 to 350.
    CHECK(s.jobs[0] == "0-360 1150-1510");
  }
  SECTION("requests queue in front of it") {
    s.paced(0, {.jobs = 3, .period = Duration{100}, .think = {}});
    s.play();
    // Between two of its jobs the program itself takes 790.
    CHECK(s.jobs[0] == "0-210 100-1210 200-2210");
  }
}

TEST_CASE("contexts take turns", "[recorded]") {
  RecordedScenario s;
  s.client("A", one_kernel(100));
  s.client("B", one_kernel(50));
  SECTION("under MPS they do not") {
    s.play();
    CHECK(s.jobs == Jobs{"0-112", "0-62"});
  }
  SECTION("in the middle of kernels") {
    s.slice(30, 5, 2, 3);
    s.play();
    // A from 10 to 40; to B: 5 + 2, from 47 until 77; to A: 5 + 2 + 3, from 87; its slice counts from 84,
    // until 114; to B again, with 20 to do: from 124 to 144. Then A needs 43 more; B's last kernel is over: 5
    // + 3, from 152.
    CHECK(s.lines == std::vector<std::string>{"0 A released", "0 B released", "10 A submitted",
                                              "10 A started", "40 A paused", "47 B submitted", "47 B started",
                                              "77 B paused", "87 A resumed", "114 A paused", "124 B resumed",
                                              "144 B paused", "146 B gone", "146 B finished", "152 A resumed",
                                              "195 A paused", "197 A gone", "197 A finished"});
  }
  SECTION("and linger") {
    s.slice(1'000, 5, 0, 0, 0, 4);
    s.play();
    // A has nothing more to do at 110, but keeps the GPU until 114; a switch takes 5 from 110 on.
    CHECK(s.jobs == Jobs{"0-112", "0-167"});
  }
  SECTION("a slice that nobody wanted to end has expired") {
    s.slice(40, 5, 1);
    s.clients[1].arrive = Duration{60};
    s.play();
    // B's kernel is due at 70, when A's slice is over and nothing waits behind A's kernel: B runs from 76 to
    // 116, A from 122 to its end at 162, and B from 167.
    CHECK(s.jobs == Jobs{"0-164", "60-179"});
  }
}

TEST_CASE("a slice is renewed where more is queued", "[recorded]") {
  MadeRecording m;
  const auto st = m.stream();
  m.kernel(st, 0, 10, 60);
  m.kernel(st, 5, 70, 40);
  m.wait(OrderKind::stream, st, 11, 101);
  RecordedScenario s;
  s.client("A", m.r);
  s.client("B", one_kernel(50)).arrive = Duration{55};
  s.slice(40, 5, 1, 0, 45);
  s.play();
  // At 50 A's slice ends, but its second kernel waits behind the first: another slice, until
  // 95. B runs from 101 to 141, A from 147 to its end at 162, B from 167.
  CHECK(s.jobs[1] == "55-179");
  CHECK(s.jobs[0] == "0-164");
}

TEST_CASE("copies are nobody's turn, and two programs share an engine", "[recorded]") {
  MadeRecording m;
  const auto st = m.stream();
  m.copy(st, 0, 10, 100, {Bytes{100}, MemoryKind::pinned, MemoryKind::device, true});
  m.wait(OrderKind::stream, st, 6, 106);
  RecordedScenario s;
  s.slice(30, 5);
  s.client("A", m.r);
  s.client("B", m.r).arrive = Duration{50};
  s.client("C", one_kernel(100));
  s.play();
  // A alone until 60, with 50 done; both at half their speed until 160; B has 50 left then.
  CHECK(s.jobs == Jobs{"0-162", "50-212", "0-112"});
}

TEST_CASE("the null stream waits for streams that block, and they for it", "[recorded]") {
  MadeRecording m;
  const auto null = m.stream(StreamKind::null), blocks = m.stream(StreamKind::blocking),
             free = m.stream(StreamKind::non_blocking);
  m.kernel(blocks, 0, 10, 50);
  m.kernel(null, 5, 61, 20);
  m.kernel(free, 10, 20, 10);
  m.kernel(blocks, 15, 82, 10);
  m.wait(OrderKind::context, 0, 20, 75);
  RecordedScenario s;
  s.client("A", m.r);
  s.play();
  CHECK(s.jobs[0] == "0-95");
  s.recorded(0).kernel_scale = 3;  // 10-160, 161-221, 222-252, and 3 later
  s.play();
  CHECK(s.jobs[0] == "0-255");
}

TEST_CASE("whole jobs are granted to recorded programs", "[recorded][grants]") {
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.device.commands = {Duration{4}, Duration{1}, Duration{2}, Duration{0}};
  s.client("A", one_kernel(100));
  s.client("B", one_kernel(50));
  SECTION("one after the other") {
    s.play("fcfs");
    // A's submission waits at its gate until 4, runs from 14 and is waited for until 116; B is granted at
    // 118.
    CHECK(s.jobs == Jobs{"0-116", "0-184"});
  }
  SECTION("the urgent one first, when what is on the GPU is over") {
    s.clients[1].priority = 1;
    s.clients[1].arrive = Duration{30};
    s.play("piv");
    // A's gate closes at 31; its kernel ends at 114, before its host has seen that; then 2 until it is known.
    CHECK(s.jobs == Jobs{"0-116", "30-182"});
  }
}

}  // namespace gangway::testing

// Hand-worked schedules of recorded programs (sim/recorded/README.md).
#include "models/recording/jobs.hpp"
#include "tests/catch.hpp"
#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {
namespace {

using recording::CallKind;
using recording::JobKind;
using recording::MemoryKind;
using recording::OrderKind;
using recording::StreamKind;
using Jobs = std::vector<std::string>;

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

TEST_CASE("a recorded service does not wait again for the requests that it waited for", "[recorded]") {
  // A job is 100 us long; recorded, the second came 500 us behind the first, the third, which was waiting, 20
  // us behind the second.
  MadeRecording m;
  const auto a = m.stream();
  for (const std::int64_t at : {0, 600'000, 720'000}) {
    const auto first = m.kernel(a, at, at, 90'000);
    m.wait(OrderKind::stream, a, at + 5, 99'995);
    m.job(first, JobKind::nvtx, at, 100'000);
  }
  RecordedScenario s;
  s.client("A", m.r);
  s.play();
  CHECK(s.jobs[0] == "0-100000 600000-700000 720000-820000");  // at its own pace
  s.paced(0, {.jobs = 4, .period = Duration{50'000}, .think = {}});
  s.play();
  CHECK(s.jobs[0] == "0-100000 50000-220000 100000-340000 150000-460000");
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

TEST_CASE("stopping kernels takes longer the more of the GPU they hold", "[recorded]") {
  // A's four blocks have all of 128 threads and half of 4,096 registers: three quarters on the mean; B's
  // block has a quarter and an eighth: 3/16.
  RecordedScenario s;
  s.device.sm = {128, 32, 4096, Bytes{48 * 1024}};
  recording::Recording a = one_kernel(100), b = one_kernel(50);
  b.launches[0].grid = {1, 1, 1};
  const auto play = [&] {
    s.client("A", a);
    s.client("B", b);
    s.slice(30, 5, 2, 3);
    s.device.time_slice->stop_full = Duration{10};
    s.device.time_slice->resume_full = Duration{7};
    s.play();
  };
  SECTION("kernels") {
    // A stops in 2 + 6 and resumes in 3 + 3, B in 2 + 1 and 3 + 0. A until 40, B from 53 to 83; A's slice
    // from 91, its kernel from 97 to 121; B's from 134, its kernel from 137 to its end at 157; A from 168.
    play();
    CHECK(s.jobs == Jobs{"0-216", "0-159"});
  }
  SECTION("registers count in eights") {
    a.launches[0].registers = 9;
    play();
    CHECK(s.jobs == Jobs{"0-216", "0-159"});
  }
  SECTION("a graph's nodes, by their time") {
    // Three quarters of the graph are such a kernel, a quarter is one like B's: 39/64. It stops in 2 + 4 and
    // resumes in 3 + 2. A until 40, B from 51 to 81, A from 94 to 119, B from 133 to 153, A from 163 to 208.
    a.launches.push_back(a.launches[0]);
    a.launches[1].grid = {1, 1, 1};
    a.works[0].kind = recording::WorkKind::graph;
    a.graphs = {{0, 1}};
    a.nodes = {{0, recording::WorkKind::kernel, 0, 0, {}, Duration{30}, 1},
               {0, recording::WorkKind::kernel, 1, 0, Duration{30}, Duration{10}, 1}};
    play();
    CHECK(s.jobs == Jobs{"0-210", "0-155"});
  }
  SECTION("a graph without nodes holds next to nothing") {
    // It stops in 2 and resumes in 3. A until 40, B from 47 to 77, A from 88 to 115, B from 125 to 145, A
    // from 153 to 196.
    a.works[0].kind = recording::WorkKind::graph;
    a.graphs = {{0, 1}};
    play();
    CHECK(s.jobs == Jobs{"0-198", "0-147"});
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

TEST_CASE("work that is due behind a kernel leaves open who follows, whatever else happens then",
          "[recorded]") {
  // A's second kernel is due at 25, behind the first. Nothing else happens then.
  MadeRecording m;
  const auto st = m.stream();
  m.kernel(st, 0, 10, 60);
  m.kernel(st, 15, 70, 100);
  m.wait(OrderKind::stream, st, 21, 151);
  RecordedScenario s;
  s.client("A", m.r);
  s.client("B", one_kernel(50)).arrive = Duration{70};
  s.client("C", one_kernel(50)).arrive = Duration{5};
  s.slice(100, 5);
  SECTION("until it is no longer behind it") {
    // C, due at 15, would be certain to follow 20 after A's begin, at 30. From 25 to 70 A's second kernel is
    // queued, so C would be certain at 90, and B, due at 80 and before it in the ring, follows: from 115 to
    // 165. C from 170 to 220, the rest of A from 225 to 285.
    s.device.time_slice->choice = Duration{20};
    s.play();
    CHECK(s.jobs == Jobs{"0-287", "70-167", "5-222"});
  }
  SECTION("but not if that was certain before") {
    // At 24. C from 115 to 165. Then A is next in the ring: from 170 to 230; B from 235 to 285.
    s.device.time_slice->choice = Duration{14};
    s.play();
    CHECK(s.jobs == Jobs{"0-232", "70-287", "5-167"});
  }
}

TEST_CASE("work that was due behind a kernel while nobody else was ready opens the choice again",
          "[recorded]") {
  // Nobody is ready at 110, when the choice would be certain. A's second kernel is behind the first from 205
  // to 1010, so it is open until 1110 who follows: of C, ready at 1050, and B, ready at 1060, the nearer one.
  MadeRecording m;
  const auto st = m.stream();
  m.kernel(st, 0, 10, 1'000);
  m.kernel(st, 195, 1'010, 500);
  SECTION("whatever else happens") { m.kernel(m.stream(), 300, 310, 100); }
  SECTION("or not") {}
  m.wait(OrderKind::context, 0, 401, 1'111);
  RecordedScenario s;
  s.client("A", m.r);
  s.client("B", one_kernel(50)).arrive = Duration{1'050};
  s.client("C", one_kernel(50)).arrive = Duration{1'040};
  s.slice(1'100, 5);
  s.device.time_slice->choice = Duration{100};
  s.play();
  CHECK(s.jobs[1] == "1050-1167");
  CHECK(s.jobs[2] == "1040-1222");
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

TEST_CASE("a slice ends while its context lingers", "[recorded]") {
  MadeRecording m;
  const auto st = m.stream();
  m.kernel(st, 0, 10, 28);
  m.kernel(st, 31, 41, 10);
  m.wait(OrderKind::stream, st, 36, 17);
  RecordedScenario s;
  s.client("A", m.r);
  s.client("B", one_kernel(20));
  s.slice(30, 5, 0, 0, 0, 4);
  s.play();
  // A has nothing to do from 38 on and leaves at 40, one before its next kernel is due; B runs from 43 to 63,
  // A from 68.
  CHECK(s.jobs == Jobs{"0-80", "0-65"});
}

TEST_CASE("a kernel that is due and has not begun is not queued behind its stream's head", "[recorded]") {
  MadeRecording m;
  const auto st = m.stream();
  m.kernel(st, 0, 10, 28);
  m.kernel(st, 5, 42, 40);  // 4 behind the first
  m.wait(OrderKind::stream, st, 10, 74);
  RecordedScenario s;
  s.client("A", m.r);
  s.client("B", one_kernel(20)).arrive = Duration{40};
  s.slice(30, 5, 1, 0, 45);
  s.play();
  // A's slice has expired at 40. B's kernel is due at 50: it runs from 56 to 76, the last 32 of A's from 81.
  CHECK(s.jobs == Jobs{"0-115", "40-78"});
}

TEST_CASE("a call waits until there is room in its stream", "[recorded]") {
  MadeRecording m;
  const auto a = m.stream(), b = m.stream();
  const auto other = m.thread();
  for (int i = 0; i < 257; ++i) m.kernel(a, 5 * i, 10 + 2'000 * i, 2'000);
  m.r.calls.back().length = Duration{30'000};  // so the depth is 256
  m.job(0, JobKind::nvtx, 0, 31'280);
  RecordedScenario s;
  SECTION("and begins then") {
    s.client("A", m.r);
    s.play();
    CHECK(s.jobs[0] == "0-2015");
  }
  SECTION("for works: a wait takes none") {
    const auto first = m.kernel(b, 600'000, 600'010, 5'000);
    m.wait_event(a, m.record(b, 600'005), 600'006);
    for (int i = 0; i < 256; ++i) m.kernel(a, 600'007 + 5 * i, 605'010 + 10 * i, 10);
    m.job(first, JobKind::nvtx, 600'000, 1'287);
    s.client("A", m.r);
    s.play();
    CHECK(s.jobs[0] == "0-2015 570735-572022");
  }
  SECTION("the one that has waited longest first") {
    // The other thread submits at 1279, one before the call that waits here, and its job ends 100 behind
    // that.
    const auto first = m.kernel(a, 701'279, 701'289, 10, other);
    m.job(first, JobKind::nvtx, 700'000, 1'384);
    s.client("A", m.r);
    s.play();
    CHECK(s.jobs[0] == "0-2115 0-4015");
  }
}

TEST_CASE("a thread that works while another one is silent shares its timeline", "[recorded]") {
  MadeRecording m;
  const auto st = m.stream();
  const auto helper = m.thread();
  RecordedScenario s;
  SECTION("in a job that is the whole program") {
    m.kernel(st, 0, 10, 100);
    m.wait(OrderKind::stream, st, 5, 107);
    m.kernel(st, 120, 130, 100, helper);
    m.wait(OrderKind::stream, st, 150, 82);
    recording::cut_jobs(m.r, recording::read_job_rule("whole"));
    s.client("A", m.r);
    CHECK(s.recorded(0).program->timelines() == 1);
    s.recorded(0).kernel_scale = 2;
    s.play();
    // 10 to 210, seen at 212; the helper's call at 220, its kernel from 230 to 430.
    CHECK(s.jobs[0] == "0-432");
  }
  SECTION("calls that overlap count once each") {
    const auto first = m.kernel(st, 0, 10, 900);
    m.r.calls.back().length = Duration{1'000};
    for (std::int64_t at : {100, 200, 300}) m.call(helper, CallKind::other, at, 10);
    for (int i = 1; i < 200; ++i) {
      m.call(0, CallKind::other, 1'000 * i + 500, 10);
      m.call(helper, CallKind::other, 1'000 * i + 700, 10);
    }
    m.job(first, JobKind::nvtx, 0, 200'000);
    s.client("A", m.r);
    CHECK(s.recorded(0).program->timelines() == 1);
  }
  SECTION("but not if it works for two") {
    const auto second = m.thread();
    auto first = m.kernel(st, 0, 10, 50);
    for (std::int64_t at : {100, 110}) m.call(helper, CallKind::other, at, 5);
    m.job(first, JobKind::nvtx, 0, 200);
    first = m.kernel(st, 300, 310, 50, second);
    m.call(helper, CallKind::other, 400, 5);
    m.job(first, JobKind::nvtx, 300, 200);
    s.client("A", m.r);
    CHECK(s.recorded(0).program->timelines() == 3);
  }
}

TEST_CASE("in one instant host threads go on in their order", "[recorded]") {
  MadeRecording m;
  const auto st = m.stream();
  const auto other = m.thread();
  auto first = m.call(0, CallKind::other, 0, 60);
  m.call(0, CallKind::other, 80, 10);
  m.wait(OrderKind::context, 0, 100, 1);
  m.job(first, JobKind::nvtx, 0, 101);
  first = m.call(other, CallKind::other, 1'000, 50);
  m.kernel(st, 1'100, 1'110, 500, other);
  m.job(first, JobKind::nvtx, 1'000, 105);
  RecordedScenario s;
  s.client("A", m.r);
  s.play();
  // Both go on at 100, where the first thread waits for what the context has: not yet the other one's kernel.
  CHECK(s.jobs[0] == "0-101 0-105");
}

}  // namespace gangway::testing

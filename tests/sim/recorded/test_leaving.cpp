// Kernels of recorded programs that leave before their end, worked out by hand (sim/recorded/README.md).
#include <set>

#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "tests/sim/recorded/random_recording.hpp"
#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {
namespace {

using recording::OrderKind;
using Jobs = std::vector<std::string>;

// A's job is one kernel, from 10 to 110 if nobody else comes; B, more urgent, comes at 30 with one of 50.
struct TwoPrograms : RecordedScenario {
  TwoPrograms() {
    device.sm.blocks = 2;
    granting.of = GrantOf::job;
    client("A", one_kernel(100));
    Client& b = client("B", one_kernel(50));
    b.arrive = Duration{30};
    b.priority = 1;
  }
};

constexpr const char* kPrologue = "{name: prologue, params: {claim_ns: 5}}";

}  // namespace

TEST_CASE("a kernel that cannot leave runs to its end", "[recorded]") {
  TwoPrograms s;
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-112", "30-172"});
}

TEST_CASE("a grant may end in the instant in which one stream stops waiting for another", "[recorded]") {
  MadeRecording m;
  const auto x = m.stream(), y = m.stream();
  m.kernel(y, 0, 10, 100);
  const auto first = m.record(y, 6);
  m.wait_event(x, first, 8);
  m.kernel(x, 12, 110, 50);
  const auto second = m.record(x, 18);
  m.wait_event(y, second, 20);
  m.kernel(y, 24, 160, 30);
  m.wait(OrderKind::stream, y, 30, 162);
  TwoPrograms s;
  s.clients.clear();
  s.granting.overlap = true;
  s.device.commands.notice = Duration{2};
  s.client("C", m.r);
  s.recorded(2).leaving = {in_form(4, 100, kPrologue)};
  Client& b = s.client("D", one_kernel(50));
  b.priority = 1;
  // C's first kernel ends at 110.
  for (std::int64_t at = 100; at < 120; ++at) {
    b.arrive = Duration{at};
    s.play("piv");
    CHECK(s.jobs.size() == 2);
  }
}

TEST_CASE("a grant without forms lets no kernel leave", "[recorded]") {
  TwoPrograms s;
  s.recorded(0).leaving = {in_form(4, 100, kPrologue)};
  s.granting.forms = TakeForms::none;
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-112", "30-172"});
  s.granting.forms = TakeForms::worth;
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-184", "30-132"});
}

TEST_CASE("prologue: the running wave ends, then the blocks that are left claim and go", "[recorded]") {
  TwoPrograms s;
  s.recorded(0).leaving = {in_form(4, 100, kPrologue)};
  SECTION("in the first of two waves") {
    s.play("piv");
    // At 30 two blocks run until 60, then two claim, 5 each. B from 80 to 130, A's second wave from 132 on.
    CHECK(s.jobs == Jobs{"0-184", "30-132"});
    CHECK(s.lines == std::vector<std::string>{"0 A released",   "0 A launch ordered", "10 A started",
                                              "30 B released",  "30 A evict ordered", "70 A paused",
                                              "70 A gone",      "70 A left",          "70 B launch ordered",
                                              "80 B started",   "130 B paused",       "132 B gone",
                                              "132 B finished", "132 B left",         "132 A launch ordered",
                                              "132 A started",  "182 A paused",       "184 A gone",
                                              "184 A finished", "184 A left"});
  }
  SECTION("and it is known to have left later") {
    s.device.access.departure = Duration{7};
    s.play("piv");
    // Gone at 77. B from 87 to 137, A's second wave from 139 on.
    CHECK(s.jobs == Jobs{"0-191", "30-139"});
  }
  SECTION("in the last one it is over before") {
    s.clients[1].arrive = Duration{61};
    s.play("piv");
    CHECK(s.jobs == Jobs{"0-112", "61-172"});
  }
  SECTION("before its first block it has done nothing") {
    s.clients[1].arrive = Duration{5};
    s.play("piv");
    // It comes at 10 all the same: four claims. B from 40 to 90, A from 92 to 192.
    CHECK(s.jobs == Jobs{"0-194", "5-92"});
  }
  SECTION("three waves of unequal length") {
    s.recorded(0).leaving = {in_form(5, 100, kPrologue)};
    s.play("piv");
    // The first wave ends at 10 + 34, three blocks claim until 59; B from 69 to 119, A from 121 for 66.
    CHECK(s.jobs == Jobs{"0-189", "30-121"});
  }
  SECTION("twice as long in that form") {
    s.recorded(0).leaving = {in_form(4, 100, "{name: prologue, params: {claim_ns: 5, overhead: 2}}")};
    s.play("piv");
    // Two waves of 100: the first until 110, claims until 120; B from 130 to 180, A from 182 for 100.
    CHECK(s.jobs == Jobs{"0-284", "30-182"});
  }
}

TEST_CASE("with overlap the next owner does not wait until the kernel has left", "[recorded]") {
  TwoPrograms s;
  s.granting.overlap = true;
  s.recorded(0).leaving = {in_form(4, 100, kPrologue)};
  s.play("piv");
  // Without time slices B runs from 40 to 90, beside A's, which has left at 70. A's second wave from 92 on.
  CHECK(s.jobs == Jobs{"0-144", "30-92"});
  // Then B has no room before A's second wave is over, at 110.
  s.granting.forms = TakeForms::none;
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-112", "30-162"});
}

TEST_CASE("loop: the running block-tasks end", "[recorded]") {
  TwoPrograms s;
  s.recorded(0).leaving = {in_form(4, 100, "loop")};
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-174", "30-122"});
}

TEST_CASE("what comes behind a kernel that may leave passes the gate, and waits in its stream",
          "[recorded]") {
  // Two kernels in a stream, the second 1 behind the first.
  MadeRecording m;
  m.r.launches.push_back(m.r.launches[0]);
  const auto a = m.stream();
  m.kernel(a, 0, 10, 100);
  m.kernel(a, 5, 111, 50);
  m.r.works.back().shape = 1;
  m.wait(OrderKind::stream, a, 11, 152);
  RecordedScenario s;
  s.device.sm.blocks = 2;
  s.granting.of = GrantOf::job;
  s.client("A", m.r);
  s.play("fcfs");
  CHECK(s.jobs[0] == "0-163");
  s.recorded(0).leaving = {in_form(4, 100, kPrologue), {}};
  s.play("fcfs");
  CHECK(s.jobs[0] == "0-163");
  Client& b = s.client("B", one_kernel(50));
  b.arrive = Duration{30};
  b.priority = 1;
  // The first wave ends at 60, two claims at 70. B from 80 to 130; A's second wave from 132 to 182, its
  // second kernel, whether it may leave or not, from 183 to 233.
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-235", "30-132"});
  s.recorded(0).leaving[1] = in_form(6, 50, kPrologue);
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-235", "30-132"});
}

TEST_CASE("what waits in another stream for a kernel that has left does not keep the GPU", "[recorded]") {
  // The second stream waits for an event behind the first one's kernel, and then has one of 20.
  MadeRecording m;
  const auto a = m.stream(), c = m.stream();
  m.kernel(a, 0, 10, 100);
  const auto event = m.record(a, 6);
  m.wait_event(c, event, 8);
  m.kernel(c, 10, 111, 20);
  m.wait(OrderKind::stream, c, 16, 117);
  RecordedScenario s;
  s.device.sm.blocks = 2;
  s.granting.of = GrantOf::job;
  s.client("A", m.r);
  s.recorded(0).leaving = {in_form(4, 100, kPrologue)};
  Client& b = s.client("B", one_kernel(50));
  b.arrive = Duration{30};
  b.priority = 1;
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-205", "30-132"});
}

TEST_CASE("no more than 256 works wait behind a kernel that may leave", "[recorded]") {
  // 258 short kernels behind a long one; then a kernel in another stream, and 7,408 after that the job's end.
  MadeRecording m;
  m.r.launches.push_back(m.r.launches[0]);
  const auto a = m.stream(), c = m.stream();
  m.kernel(a, 0, 10, 5'000);
  for (int i = 1; i <= 258; ++i) {
    m.kernel(a, 6 * i, 5'009 + 2 * i, 1);
    m.r.works.back().shape = 1;
  }
  m.kernel(c, 1'560, 1'570, 20);
  m.r.works.back().shape = 1;
  m.wait(OrderKind::stream, c, 1'566, 26);
  m.wait(OrderKind::stream, a, 9'000, 5);
  RecordedScenario s;
  s.device.sm.blocks = 2;
  s.granting.of = GrantOf::job;
  s.client("A", m.r);
  s.play("fcfs");
  CHECK(s.jobs[0] == "0-9005");
  s.recorded(0).leaving = {in_form(4, 5'000, kPrologue), {}};
  s.play("fcfs");
  // The 257th is submitted when the long kernel is over, at 5,010; without the limit at 1,542.
  CHECK(s.jobs[0] == "0-12473");
}

TEST_CASE("under other policies kernels are as they were recorded", "[recorded]") {
  TwoPrograms s;
  s.recorded(0).leaving = {in_form(4, 100, "{name: prologue, params: {overhead: 3}}")};
  s.play();
  CHECK(s.jobs == Jobs{"0-112", "30-162"});
}

TEST_CASE("kernels that leave lose no job, whatever the policy", "[recorded][long]") {
  std::size_t evictions = 0;
  for (const int i : case_numbers(150, 8'000)) {
    RecordedScenario scenario;
    draw_recorded(static_cast<std::uint64_t>(i), scenario);
    scenario.granting.of = GrantOf::job;
    scenario.granting.overlap = i % 5 == 0;
    scenario.granting.in_flight = i % 3;
    Stream random(static_cast<std::uint64_t>(i), "leaving", {});
    for (std::size_t c = 0; c < scenario.clients.size(); ++c)
      for (int launch = 0; launch < 8; ++launch)
        scenario.recorded(c).leaving.push_back(random.below(3) == 0
                                                   ? LeavingKernel{}
                                                   : in_form(1 + static_cast<std::int64_t>(random.below(40)),
                                                             100, random.below(2) == 0 ? "loop" : kPrologue));
    for (const char* policy : {"{name: rr, params: {quantum: 1 us}}", "piv", "srt",
                               "{name: frs, params: {minimum_quantum: 1 us}}"}) {
      INFO("scenario " << i << " under " << policy);
      scenario.play(policy);
      std::set<JobId> over;
      for (const JobResult& job : scenario.results) {
        REQUIRE(over.insert(job.id).second);
        REQUIRE(job.outcome == Outcome::finished);
        evictions += job.evictions;
      }
      std::size_t all = 0;
      for (const Client& client : scenario.clients) all += *client.repeat.jobs;
      REQUIRE(over.size() == all);
    }
  }
  CHECK(evictions > 0);
}

}  // namespace gangway::testing

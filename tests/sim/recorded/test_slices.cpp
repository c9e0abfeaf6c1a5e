// Kernels of recorded programs that are launched in slices, worked out by hand (sim/recorded/README.md).
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

constexpr const char* kByTwo = "{name: pkm, params: {slice: block-tasks, block_tasks: 2}}";

// A's job is one kernel in two waves, from 10 to 110 if nobody else comes; B, more urgent, comes at 30 with a
// kernel of 50 that is not sliced.
struct SlicedPrograms : RecordedScenario {
  SlicedPrograms() {
    device.sm.blocks = 2;
    client("A", one_kernel(100));
    Client& b = client("B", one_kernel(50));
    b.arrive = Duration{30};
    b.priority = 1;
    recorded(0).leaving = {in_form(4, 100, "slice")};
  }
  void commands(std::int64_t launch, std::int64_t evict, std::int64_t notice) {
    device.commands = {
        .launch = Duration{launch}, .evict = Duration{evict}, .notice = Duration{notice}, .pending_work = {}};
  }
};

}  // namespace

TEST_CASE("of a program alone slices follow each other", "[recorded]") {
  SlicedPrograms s;
  s.clients[1].arrive = Duration{1'000};
  SECTION("at once, without delays") {
    s.play(kByTwo);
    CHECK(s.jobs == Jobs{"0-112", "1000-1062"});
  }
  SECTION("each a report and a launch later") {
    // Submitted at 3, the kernel stands at 13; slices from 18 to 68 and from 73 to 123.
    s.commands(3, 1, 2);
    s.play(kByTwo);
    CHECK(s.jobs[0] == "0-125");
  }
  SECTION("with the cost of a slice") {
    s.commands(3, 1, 2);
    s.mechanism = "{name: slice, params: {slice_cost: 4 ns}}";
    s.play(kByTwo);
    CHECK(s.jobs[0] == "0-133");
  }
  SECTION("part of a wave takes as long as a wave") {
    s.play("{name: pkm, params: {slice: block-tasks, block_tasks: 3}}");
    CHECK(s.jobs[0] == "0-162");  // three blocks are two waves, and one is one
  }
}

TEST_CASE("a more urgent program comes in between two slices", "[recorded]") {
  SlicedPrograms s;
  SECTION("without delays") {
    s.play(kByTwo);
    // A's first wave until 60; B's kernel is submitted then, and due at 70.
    CHECK(s.jobs == Jobs{"0-172", "30-122"});
    CHECK(s.lines == std::vector<std::string>{
                         "0 A released", "0 A launch ordered", "10 A left", "10 A launch ordered",
                         "10 A started", "30 B released", "60 A gone", "60 A left", "60 B launch ordered",
                         "70 B started", "120 B paused", "120 B gone", "120 B left", "120 A launch ordered",
                         "120 A started", "122 B finished", "170 A gone", "170 A left", "172 A finished"});
    CHECK(s.off_gpu == std::vector<std::string>{"0 A on host", "30 B awaits GPU", "60 A awaits GPU",
                                                "60 B on host", "120 B on host", "170 A on host"});
  }
  SECTION("with delays") {
    // A's slice ends at 68, its gate closes at 71, and B's opens at 73: its kernel from 83 to 133, closed
    // at 74. A's second slice from 138, a launch after the report at 135.
    s.commands(3, 1, 2);
    s.play(kByTwo);
    CHECK(s.jobs == Jobs{"0-190", "30-135"});
  }
  SECTION("a kernel without a form is not sliced") {
    s.recorded(0).leaving = {LeavingKernel{}};
    s.play(kByTwo);
    CHECK(s.jobs == Jobs{"0-112", "30-172"});
  }
  SECTION("nor what is said not to be") {
    s.recorded(0).leaving[0].sliced = false;
    s.play(kByTwo);
    CHECK(s.jobs == Jobs{"0-112", "30-172"});
  }
}

TEST_CASE("under whole jobs a kernel in the form slice runs to its end", "[recorded]") {
  SlicedPrograms s;
  s.granting.of = GrantOf::job;
  s.play("piv");
  CHECK(s.jobs == Jobs{"0-112", "30-172"});
}

TEST_CASE("equal programs share by slices in turn", "[recorded]") {
  SlicedPrograms s;
  s.clients[1].arrive = Duration{0};
  s.recorded(1).leaving = {in_form(2, 50, "slice")};
  s.play("{name: microkernel-rr, params: {state: resident, blocks: block-tasks, block_tasks: 2}}");
  // Both stand at 10, since neither's gate was closed by the other before it had submitted.
  for (const JobResult& job : s.results) CHECK(job.outcome == Outcome::finished);
}

TEST_CASE("slices lose no job, whatever the policy", "[recorded][long]") {
  std::size_t slices = 0;
  for (const int i : case_numbers(150, 8'000)) {
    RecordedScenario scenario;
    draw_recorded(static_cast<std::uint64_t>(i), scenario);
    Stream random(static_cast<std::uint64_t>(i), "slices", {});
    const auto some = [&](std::uint64_t most) {
      return Duration{static_cast<std::int64_t>(random.below(most))};
    };
    if (i % 2 == 0)
      scenario.device.commands = {
          .launch = some(40), .evict = some(20), .notice = some(20), .pending_work = {}};
    for (std::size_t c = 0; c < scenario.clients.size(); ++c)
      for (int launch = 0; launch < 8; ++launch)
        scenario.recorded(c).leaving.push_back(random.below(3) == 0
                                                   ? LeavingKernel{}
                                                   : in_form(1 + static_cast<std::int64_t>(random.below(40)),
                                                             100, random.below(2) == 0 ? "loop" : "slice"));
    for (const char* policy : {kByTwo, "pkm", "{name: pkm, params: {latency: 1 us, linger: 100 ns}}",
                               "{name: microkernel-rr, params: {state: resident}}"}) {
      INFO("scenario " << i << " under " << policy);
      scenario.play(policy);
      std::set<JobId> over;
      for (const JobResult& job : scenario.results) {
        REQUIRE(over.insert(job.id).second);
        REQUIRE(job.outcome == Outcome::finished);
        slices += static_cast<std::size_t>(job.launches);
      }
      std::size_t all = 0;
      for (const Client& client : scenario.clients) all += *client.repeat.jobs;
      REQUIRE(over.size() == all);
    }
  }
  CHECK(slices > 0);
}

}  // namespace gangway::testing

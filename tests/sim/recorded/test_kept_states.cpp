// Recorded programs whose memory leaves the GPU, worked out by hand (sim/recorded/README.md).
#include <algorithm>

#include "models/random.hpp"
#include "tests/catch.hpp"
#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {
namespace {

using Jobs = std::vector<std::string>;

// One kernel of that length, and much later another one, so that the program stays.
recording::Recording that_stays(std::int64_t length) {
  MadeRecording m;
  const auto s = m.stream();
  for (const std::int64_t at : {0, 5000}) {
    m.awaited_kernel(s, at, length);
  }
  return m.r;
}

// Two programs of 60 bytes each on a GPU of 100, on a bus of a byte a ns each way. A's first job is one
// kernel, from 10 to 110 if nobody else comes; B's comes at 30, with one of 50.
struct TwoStates : RecordedScenario {
  explicit TwoStates(bool a_stays = true, bool b_stays = false) {
    device.memory = Bytes{100};
    device.h2d.bandwidth = device.d2h.bandwidth = Bandwidth{1'000'000'000};
    granting.of = GrantOf::job;
    moves_memory = true;
    client("A", a_stays ? that_stays(100) : one_kernel(100)).memory = Bytes{60};
    Client& b = client("B", b_stays ? that_stays(50) : one_kernel(50));
    b.memory = Bytes{60};
    b.arrive = Duration{30};
  }
};

constexpr const char* kJobs = "{name: microkernel-rr, params: {blocks: job, slice: 1000 ns}}";

}  // namespace

TEST_CASE("a state leaves before another one comes", "[recorded]") {
  TwoStates s;
  s.play(kJobs);
  // A's state is there from the beginning. Its job is over at 112, and B asks: A's is saved from 112 to 172,
  // B's restored from then to 232. Its kernel was submitted at 232 and is due 10 later.
  // B has exited when A's second job comes, whose restore takes until 5060.
  CHECK(s.jobs == Jobs{"0-112 5000-5172", "30-294"});
  s.lines.resize(18);
  CHECK(s.lines == std::vector<std::string>{
                       "0 A released", "0 A launch ordered", "10 A started", "30 B released", "110 A paused",
                       "112 A gone", "112 A finished", "112 A left", "172 A holds memory",
                       "172 B copy begins", "232 B copy ends", "232 B holds memory", "232 B launch ordered",
                       "242 B started", "292 B paused", "294 B gone", "294 B finished", "294 B left"});
}

TEST_CASE("room that is made for who has the GPU goes to nobody else", "[recorded]") {
  // Hosts compute for longer than a gate stays open with nothing there.
  const std::string policy = GENERATE(as<std::string>{}, "fcfs", "rr", kJobs);
  CAPTURE(policy);
  for (std::uint64_t draw = 0; draw < 40; ++draw) {
    CAPTURE(draw);
    Stream random(draw, "states", {});
    RecordedScenario s;
    s.device.memory = Bytes{60};
    s.device.h2d.bandwidth = s.device.d2h.bandwidth = Bandwidth{20'000'000};  // a byte in 50 ns
    s.granting.of = GrantOf::job;
    s.granting.idle = Duration{10};
    s.moves_memory = true;
    s.horizon = Time{2'000'000};
    for (const char* name : {"A", "B", "C", "D"}) {
      MadeRecording m;
      const auto stream = m.stream();
      const auto gap = static_cast<std::int64_t>(random.below(200)) + 50;
      for (std::int64_t k = 0; k < 8; ++k) {
        m.awaited_kernel(stream, k * gap, 20);
        if (k % 2 != 0)
          m.job(static_cast<recording::Index>(2 * (k - 1)), recording::JobKind::nvtx, (k - 1) * gap,
                gap + 32);
      }
      s.client(name, m.r).memory = Bytes{static_cast<std::int64_t>(random.below(35)) + 10};
    }
    s.play(policy);
    REQUIRE(s.results.size() == 16);
    for (const JobResult& job : s.results) REQUIRE(job.outcome == Outcome::finished);
  }
}

TEST_CASE("a job that submits again while its pause is told has another turn", "[recorded]") {
  MadeRecording m;
  const auto stream = m.stream();
  m.awaited_kernel(stream, 0, 20);
  m.awaited_kernel(stream, 60, 20);
  m.job(0, recording::JobKind::nvtx, 0, 92);
  TwoStates s;
  s.clients.clear();
  s.granting.idle = Duration{20};
  s.device.commands.notice = Duration{20};
  s.client("C", m.r).memory = Bytes{60};
  s.client("D", m.r).memory = Bytes{60};
  s.horizon = Time{100'000};
  s.play(kJobs);
  // C's first kernel ends at 30, its pause is noticed at 50 and told at 70, its second submission comes
  // at 60.
  for (const JobResult& result : s.results) CHECK(result.outcome == Outcome::finished);
}

TEST_CASE("a job leaves at its slice's end, and its state comes back", "[recorded]") {
  // C's two jobs are kernels of 1500, D's is one of 50.
  MadeRecording m;
  const auto stream = m.stream();
  for (int k = 0; k < 2; ++k) {
    m.awaited_kernel(stream, k * 1520, 1500);
  }
  TwoStates s;
  s.clients.clear();
  s.client("C", m.r).memory = Bytes{60};
  s.client("D", one_kernel(50)).memory = Bytes{60};
  const char* sliced = "{name: microkernel-rr, params: {blocks: job, slice: 1 us, unready: yield}}";
  s.play(sliced);
  // C's slice ends at 1000, in its first kernel, which is over at 1510. Its state leaves until 1570, D's
  // comes until 1630, and D's kernel runs from 1640 to 1690. D exits at 1692, C's state comes until 1752, and
  // its next kernel runs from 1762 to 3262.
  CHECK(s.jobs == Jobs{"0-1512 1520-3264", "0-1692"});
  s.device.memory = Bytes{120};
  s.play("{name: microkernel-rr, params: {blocks: job, slice: 1 us, keep: while-room}}");
  CHECK(s.jobs == Jobs{"0-1512 1520-3084", "0-1572"});
}

TEST_CASE("a state in which nothing was done is not copied out", "[recorded]") {
  TwoStates s(false, true);
  // A has no job before 1000, and its state is there first.
  s.clients[0].arrive = Duration{1000};
  s.play(kJobs);
  // It leaves at 30 in no time, and B's comes until 90; B's, which was worked on, takes its time at 1000.
  CHECK(s.jobs == Jobs{"1000-1232", "30-152 5090-5212"});
}

TEST_CASE("a program that exits leaves its room at once", "[recorded]") {
  TwoStates s(false);
  // A exits at 112, so B's state comes without a save of A's: until 172.
  s.play(kJobs);
  CHECK(s.jobs == Jobs{"0-112", "30-234"});
  s.play("{name: rr, params: {quantum: 1000 ns}}");
  CHECK(s.jobs == Jobs{"0-112", "30-234"});
  CHECK(std::find(s.lines.begin(), s.lines.end(), "112 A holds memory") != s.lines.end());
  CHECK(s.lines.back() == "234 B holds memory");
}

TEST_CASE("without a policy's orders states go and come at once, both ways", "[recorded]") {
  TwoStates s;
  s.play("{name: rr, params: {quantum: 1000 ns}}");
  // At 112 B has the GPU; A's state leaves and B's comes until 172. B's kernel from 182 to 232.
  CHECK(s.jobs == Jobs{"0-112 5000-5172", "30-234"});
  SECTION("each at its share of what goes both ways") {
    s.device.h2d.both_ways = s.device.d2h.both_ways = 0.5;
    s.play("{name: rr, params: {quantum: 1000 ns}}");
    CHECK(s.jobs == Jobs{"0-112 5000-5172", "30-294"});
  }
  SECTION("and stay where nobody moves memory") {
    s.moves_memory = false;
    s.play("{name: rr, params: {quantum: 1000 ns}}");
    CHECK(s.jobs == Jobs{"0-112 5000-5112", "30-174"});
  }
}

}  // namespace gangway::testing

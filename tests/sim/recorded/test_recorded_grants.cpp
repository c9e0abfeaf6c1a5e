// Grants of whole jobs to recorded programs, worked out by hand from "The gate" of sim/recorded/README.md.
#include "tests/catch.hpp"
#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {
namespace {

using recording::JobKind;
using recording::OrderKind;
using Jobs = std::vector<std::string>;

// Grants the GPU to the job that waits, of a single client, and notes the time served as it is told.
class OneByOne : public Policy {
 public:
  std::vector<std::int64_t> served;
  Capabilities needs() const override { return {Capability::evict}; }
  void note(Time, const Fact& fact, const View&) override {
    if (const auto* arrived = std::get_if<Arrived>(&fact)) waiting_ = arrived->job;
    if (const auto* left = std::get_if<Left>(&fact)) served.push_back(left->served.ns);
  }
  void decide(Time, const View&, Orders& orders) override {
    if (waiting_) orders.launch(*std::exchange(waiting_, std::nullopt), DeviceId{0}, std::nullopt);
  }

 private:
  std::optional<JobId> waiting_;
};

}  // namespace

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
  SECTION("the urgent one at once, beside what is on the GPU") {
    s.granting.overlap = true;
    s.clients[1].priority = 1;
    s.clients[1].arrive = Duration{30};
    s.play("piv");
    // A's gate closes at 31, which is known at 33; B's opens at 37, and its kernel runs from 47 to 97. A's
    // job ends without a grant.
    CHECK(s.jobs == Jobs{"0-116", "30-99"});
    s.slice(40, 0);
    s.play("piv");
    // In turns of 40: A from 14 to 54, B to 94, A to 134, B its last 10, A its last 20.
    CHECK(s.jobs == Jobs{"0-166", "30-146"});
  }
}

TEST_CASE("a host that waited at the gate is slow for a while", "[recorded][grants]") {
  MadeRecording m;
  const auto a = m.stream();
  m.kernel(a, 0, 10, 20);
  m.awaited_kernel(a, 100, 20);
  m.job(0, JobKind::nvtx, 0, 132);
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.granting.idle = Duration{1'000};
  s.device.commands = {Duration{4}, Duration{1}, Duration{2}, Duration{0}};
  s.client("A", m.r);
  s.client("B", m.r);
  s.play("fcfs");
  // A's gate opens at 4, B's at 142.
  CHECK(s.jobs == Jobs{"0-136", "0-274"});
  s.device.cooling = {3, Duration{1}, 0.5, Duration{40}};
  s.play("fcfs");
  // A has waited for 3 more than 1, so 2 (1.5, rounded) of the 5 that its first call takes are slow. It ends
  // 4 later, and so does the job. B, whose gate opens at 146, has waited for so long that 40 are slow, the
  // call and 35 of the gap: it is 80 behind.
  CHECK(s.jobs == Jobs{"0-140", "0-358"});
  s.device.cooling.after = Duration{4};
  s.play("fcfs");
  CHECK(s.jobs == Jobs{"0-136", "0-354"});
}

TEST_CASE("who may be displaced by a client of its GPU has few submissions there, and pays for it",
          "[recorded][grants]") {
  MadeRecording m;
  const auto a = m.stream();
  m.kernel(a, 0, 10, 20);
  m.kernel(a, 6, 30, 20);
  m.awaited_kernel(a, 100, 20);
  m.job(0, JobKind::nvtx, 0, 132);
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.granting.idle = Duration{1'000};
  s.granting.in_flight = 2;
  s.device.commands = {Duration{4}, Duration{1}, Duration{2}, Duration{0}};
  s.device.access.limited = Duration{3};
  s.client("A", m.r);
  s.client("B", one_kernel(50)).priority = 1;
  Repeat repeat;
  repeat.releases = {Duration{0}, Duration{5'000}};
  const auto of_a = [&] {
    s.paced(1, repeat);
    s.play("fcfs");
    return s.jobs[0];
  };
  SECTION("each of its first two calls is 3 longer, and so is what the third waits for") {
    CHECK(of_a() == "0-142");
  }
  SECTION("one at a time") {
    s.granting.in_flight = 1;
    // The second waits from 13 until the first kernel is over, at 34. Its call ends at 42, the third begins
    // at 131.
    CHECK(of_a() == "0-163");
  }
  SECTION("and has a share of an event") {
    // Of four: 2 (1.75, rounded).
    s.granting.in_flight = 8;
    s.device.access.event = Duration{7};
    CHECK(of_a() == "0-146");
    s.granting.in_flight = 3;
    CHECK(of_a() == "0-156");
    s.granting.in_flight = 1'000;  // of eight
    CHECK(of_a() == "0-144");
  }
  SECTION("not if nobody is more urgent") {
    s.clients[1].priority = 0;
    CHECK(of_a() == "0-136");
  }
  SECTION("not if who is more urgent is on another GPU") {
    s.device.gpus = 2;
    CHECK(of_a() == "0-136");
  }
  SECTION("not before the more urgent client has begun") {
    repeat.releases = {Duration{5'000}};
    CHECK(of_a() == "0-136");
  }
  SECTION("not once its jobs are over") {
    s.clients[0].arrive = Duration{1'000};
    s.play("fcfs");
    CHECK(s.jobs[0] == "1000-1136");
  }
  SECTION("not without a limit") {
    s.granting.in_flight = 0;
    CHECK(of_a() == "0-136");
  }
}

TEST_CASE("a kernel from between two jobs starts a grant", "[recorded][grants]") {
  MadeRecording m;
  const auto a = m.stream(), b = m.stream();
  auto first = m.awaited_kernel(a, 0, 100);
  m.job(first, JobKind::nvtx, 0, 112);
  m.kernel(b, 120, 130, 5'000);
  first = m.kernel(a, 200, 210, 100);
  m.awaited_kernel(a, 3'000, 100);
  m.job(first, JobKind::nvtx, 200, 2'912);
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.device.commands = {Duration{4}, Duration{1}, Duration{2}, Duration{0}};
  s.client("A", m.r);
  s.client("B", one_kernel(50)).arrive = Duration{210};
  s.play("{name: rr, params: {quantum: 1 us}}");
  // The second job is granted from 208 on, while the kernel from 134 to 5134 runs. Its quantum is over at
  // 1208, so its submission at 3008 waits. B is granted at 5136, the job again at 5204.
  CHECK(s.jobs == Jobs{"0-116 204-5320", "210-5202"});
}

TEST_CASE("of a client's jobs the one that has waited longest asks", "[recorded][grants]") {
  MadeRecording m;
  const auto a = m.stream(), b = m.stream();
  const auto other = m.thread();
  for (std::int64_t at : {0, 122}) {
    const auto first = m.awaited_kernel(a, at, 100);
    m.job(first, JobKind::nvtx, at, 112);
  }
  const auto first = m.awaited_kernel(b, 1'000, 100, other);
  m.job(first, JobKind::nvtx, 1'000, 112);
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.device.commands = {Duration{4}, Duration{1}, Duration{200}, Duration{0}};
  s.client("A", m.r);
  s.play("fcfs");
  // The first job is over at 116, its thread's next one waits from 126 on. At 316 the other thread's asks,
  // which has waited since 0, and runs from 330 to 430.
  CHECK(s.jobs[0] == "0-116 0-432 126-748");
}

TEST_CASE("a job that is evicted while its host computes waits all the same", "[recorded][grants]") {
  MadeRecording m;
  const auto a = m.stream();
  m.awaited_kernel(a, 0, 100);
  m.awaited_kernel(a, 1'000, 100);
  m.job(0, JobKind::nvtx, 0, 1'112);
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.granting.idle = Duration{5'000};
  s.device.commands = {Duration{4}, Duration{1}, Duration{2}, Duration{0}};
  s.client("A", m.r);
  Client& urgent = s.client("B", one_kernel(50));
  urgent.arrive = Duration{300};
  urgent.priority = 1;
  s.play("piv");
  // A's gate is open from 4 to 301. B has the GPU from 303 to 371, A's gate opens again at 375, and its
  // submission at 1004 does not wait.
  CHECK(s.jobs == Jobs{"0-1116", "300-369"});
}

TEST_CASE("a recorded job is served while its gate is open, and not while it pauses", "[recorded][grants]") {
  MadeRecording m;
  const auto a = m.stream();
  m.awaited_kernel(a, 0, 100);
  m.awaited_kernel(a, 1'000, 100);
  m.job(0, JobKind::nvtx, 0, 1'112);
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.granting.idle = Duration{50};
  s.device.commands = {Duration{4}, Duration{1}, Duration{2}, Duration{0}};
  s.client("A", m.r);
  OneByOne policy;
  s.play(policy);
  // The gate is open from 4; the kernel ends at 114, and the grant at 164. The second one opens at 1008; the
  // job is over at 1120, which is told at 1122.
  CHECK(policy.served == std::vector<std::int64_t>{110, 110 + 114});
}

TEST_CASE("a job that is over before its turn leaves it to the client's next", "[recorded][grants]") {
  const auto begins = GENERATE(1'150, 1'600);
  MadeRecording m;
  const auto a = m.stream();
  m.awaited_kernel(a, 0, 100);
  m.job(0, JobKind::nvtx, 0, 1'100);
  const auto second = m.awaited_kernel(a, begins, 100);
  m.job(second, JobKind::nvtx, begins, 112);
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.granting.idle = Duration{5'000};
  s.device.commands = {Duration{4}, Duration{1}, Duration{2}, Duration{0}};
  s.client("A", m.r);
  s.client("B", one_kernel(200)).arrive = Duration{200};
  s.client("C", one_kernel(50)).arrive = Duration{1'050};
  s.play("{name: rr, params: {quantum: 1 us}}");
  // A's quantum lasts from 4 to 1004. B has the GPU from 1007 to 1225; A's first job is over at 1104. At
  // 1225 it is A's turn, before C: if its second job waits then, that gets the turn, and C the one at 1343.
  if (begins == 1'150)
    CHECK(s.jobs == Jobs{"0-1104 1154-1341", "200-1223", "1050-1409"});
  else
    CHECK(s.jobs == Jobs{"0-1104 1604-1720", "200-1223", "1050-1291"});
}

TEST_CASE("an eviction that comes too late does not close the next grant's gate", "[recorded][grants]") {
  MadeRecording m;
  const auto a = m.stream();
  m.awaited_kernel(a, 0, 100);
  m.kernel(a, 206, 216, 300);
  m.kernel(a, 400, 517, 10);
  m.wait(OrderKind::stream, a, 406, 123);
  m.job(0, JobKind::nvtx, 0, 529);
  RecordedScenario s;
  s.granting.of = GrantOf::job;
  s.granting.idle = Duration{50};
  s.device.commands = {Duration{4}, Duration{200}, Duration{2}, Duration{0}};
  s.client("A", m.r);
  Client& urgent = s.client("B", one_kernel(20));
  urgent.arrive = Duration{164};
  urgent.priority = 1;
  s.play("piv");
  // A's grant is over at 164, as B arrives and A is to be evicted. A is granted again from 214 on: what was
  // to close its gate at 364 belongs to the first grant, so its submission at 408 passes.
  CHECK(s.jobs == Jobs{"0-537", "164-202"});
}

}  // namespace gangway::testing

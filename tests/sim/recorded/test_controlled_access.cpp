// Hand-worked schedules of recorded programs under policies that control access (sim/recorded/README.md).
#include <functional>
#include <utility>

#include "tests/catch.hpp"
#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {
namespace {

using recording::MemoryKind;
using recording::OrderKind;
using recording::Recording;
using Jobs = std::vector<std::string>;
using Texts = std::vector<std::string>;

// Jobs of one kernel each, which runs from 10 after its submission and is waited for until 2 after its end;
// the next job is `gap` later.
Recording kernels(int jobs, std::int64_t length, std::int64_t gap) {
  MadeRecording m;
  const auto s = m.stream();
  for (int j = 0; j < jobs; ++j) {
    const std::int64_t at = j * (length + 12 + gap);
    m.awaited_kernel(s, at, length);
  }
  return m.r;
}

// Two threads with a job each, of a kernel of 100 and one of 40.
Recording two_threads() {
  MadeRecording m;
  const auto a = m.stream(), b = m.stream(), second = m.thread();
  m.kernel(a, 0, 10, 100);
  m.kernel(b, 2, 12, 40, second);
  m.wait(OrderKind::stream, a, 6, 106);
  m.wait(OrderKind::stream, b, 8, 46, second);
  return m.r;
}

// Jobs of the first thread, by their begins and lengths.
void ranges(Recording& r, const std::vector<std::pair<std::int64_t, std::int64_t>>& jobs) {
  for (const auto& [begin, length] : jobs) {
    for (recording::Call& call : r.calls)
      if (call.begin >= Time{begin} && call.begin < Time{begin + length})
        call.job = static_cast<recording::Index>(r.jobs.size());
    r.jobs.push_back({recording::JobKind::nvtx, 0, Time{begin}, Duration{length}});
  }
}

// Does what it is told at given times, after the facts of that instant, and keeps a list of facts.
class Script : public Policy {
 public:
  using Act = std::function<void(Orders&)>;
  explicit Script(std::vector<std::pair<std::int64_t, Act>> acts) : acts_(std::move(acts)) {}
  Capabilities needs() const override { return {Capability::access, Capability::intercept}; }
  void note(Time now, const Fact& fact, const View&) override {
    if (const auto* f = std::get_if<Opens>(&fact)) add(now, f->client, "opens", {f->channels});
    if (const auto* f = std::get_if<Exited>(&fact)) add(now, f->client, "exited", {});
    if (const auto* f = std::get_if<Submitted>(&fact)) {
      add(now, f->client, "submitted", {});
      requests.push_back(f->request);
    }
    if (const auto* f = std::get_if<Drained>(&fact)) add(now, f->client, "drained", {f->overrun.ns});
    if (const auto* f = std::get_if<Sampled>(&fact))
      add(now, f->client, "sampled", {f->requests, f->busy.ns, f->span.ns});
    if (const auto* f = std::get_if<Activity>(&fact))
      add(now, f->client, "activity", {f->used ? 1 : 0, f->pending ? 1 : 0, f->usage.ns});
    if (const auto* f = std::get_if<Overdue>(&fact)) add(now, f->client, "overdue", {f->age.ns});
  }
  void decide(Time now, const View&, Orders& orders) override {
    if (!std::exchange(began_, true)) {
      for (const auto& act : acts_) orders.wake_at(Time{act.first});
      return;
    }
    for (auto& [time, act] : acts_)
      if (act && Time{time} == now) std::exchange(act, nullptr)(orders);
  }

  Texts facts;
  std::vector<RequestId> requests;

 private:
  void add(Time now, ClientId client, const std::string& what, const std::vector<std::int64_t>& numbers) {
    std::string text = std::to_string(now.ns) + " " + static_cast<char>('A' + client.index) + " " + what;
    for (const std::int64_t number : numbers) text += " " + std::to_string(number);
    facts.push_back(text);
  }
  std::vector<std::pair<std::int64_t, Act>> acts_;
  bool began_ = false;
};

constexpr ClientId kA{0}, kB{1};

}  // namespace

TEST_CASE("every submission of a recorded program traps", "[recorded][access]") {
  RecordedScenario s;
  s.device.access.interception = Duration{3};
  s.client("A", kernels(1, 100, 0));
  SECTION("alone") {
    s.play("trap-per-request");
    CHECK(s.lines == Texts{"0 A intercept", "0 A released", "13 A submitted", "13 A started", "113 A paused",
                           "115 A gone", "115 A finished"});
  }
  SECTION("beside another one") {
    s.client("B", kernels(1, 50, 0));
    s.play("trap-per-request");
    CHECK(s.jobs == Jobs{"0-115", "0-65"});
    s.slice(30, 5);
    s.play("trap-per-request");
    CHECK(s.jobs == Jobs{"0-185", "0-140"});
  }
  SECTION("copies do, too") {
    MadeRecording m;
    const auto st = m.stream();
    m.copy(st, 0, 10, 100, {Bytes{100}, MemoryKind::pinned, MemoryKind::device, true});
    m.kernel(st, 6, 111, 20);
    m.wait(OrderKind::stream, st, 12, 121);
    s.client("B", m.r);
    s.play("trap-per-request");
    CHECK(s.jobs == Jobs{"0-115", "0-136"});
  }
  SECTION("and what lies between two jobs") {
    MadeRecording m;
    const auto st = m.stream();
    for (const std::int64_t at : {0, 500}) {
      m.awaited_kernel(st, at, 100);
      if (at == 0) m.kernel(st, 200, 210, 30);
    }
    ranges(m.r, {{0, 112}, {500, 112}});
    s.client("B", m.r);
    s.play("trap-per-request");
    CHECK(s.jobs == Jobs{"0-115", "0-115 506-621"});
  }
}

TEST_CASE("two threads of a recorded program trap, each by itself", "[recorded][access]") {
  RecordedScenario s;
  s.device.access.interception = Duration{4};
  s.client("A", two_threads());
  SECTION("each submission is admitted") {
    s.play("trap-per-request");
    CHECK(s.jobs == Jobs{"0-56 0-116"});
  }
  SECTION("one is admitted, and later the other one") {
    Script* told = nullptr;
    Script script({{0, [](Orders& o) { o.access(kA, Access::intercept); }},
                   {20, [&](Orders& o) { o.admit(told->requests.at(1)); }},
                   {300, [&](Orders& o) { o.admit(told->requests.at(0)); }}});
    told = &script;
    s.play(script);
    CHECK(script.facts == Texts{"0 A opens 2", "4 A submitted", "4 A submitted", "412 A exited"});
    CHECK(s.jobs == Jobs{"0-72 0-412"});
  }
  SECTION("one is sampled, and the other one is denied") {
    Script script({{0, [](Orders& o) { o.access(kA, Access::deny); }},
                   {50, [](Orders& o) { o.sample(kA, Duration{200}, 1); }},
                   {200, [](Orders& o) { o.access(kA, Access::direct); }}});
    s.play(script);
    CHECK(script.facts == Texts{"0 A opens 2", "4 A activity 0 1 0", "4 A activity 0 1 0",
                                "160 A sampled 1 110 110", "160 A activity 1 1 110", "252 A exited"});
    CHECK(s.jobs == Jobs{"0-162 0-252"});
    CHECK(s.accesses == Texts{"0 A deny", "50 A sampled", "160 A deny", "200 A direct"});
  }
  SECTION("both are sampled, one behind the other") {
    Script script({{0, [](Orders& o) { o.access(kA, Access::deny); }},
                   {50, [](Orders& o) { o.sample(kA, Duration{200}, 2); }}});
    s.play(script);
    CHECK(script.facts == Texts{"0 A opens 2", "4 A activity 0 1 0", "4 A activity 0 1 0",
                                "210 A sampled 2 160 160", "210 A activity 1 0 160", "212 A exited"});
  }
}

TEST_CASE("recorded programs hand a token on", "[recorded][access]") {
  RecordedScenario s;
  s.device.access.interception = Duration{4};
  s.client("A", kernels(5, 300, 8));
  s.client("B", kernels(1, 300, 8));
  SECTION("whose holder traps") {
    s.play("{name: timeslice, params: {slice: 1 us}}");
    CHECK(s.accesses == Texts{"0 A deny", "0 B deny", "0 A intercept", "1000 A deny", "1286 B intercept",
                              "1598 A intercept"});
    CHECK(s.jobs == Jobs{"0-316 324-640 648-964 972-1288 1296-1910", "0-1598"});
  }
  SECTION("whose holder is left alone") {
    s.play("{name: disengaged-timeslice, params: {slice: 1 us}}");
    CHECK(s.accesses ==
          Texts{"0 A deny", "0 B deny", "0 A direct", "1000 A deny", "1270 B direct", "1582 A direct"});
    CHECK(s.jobs == Jobs{"0-312 320-632 640-952 960-1272 1280-1894", "0-1582"});
  }
  SECTION("and what is queued is waited for") {
    MadeRecording m;
    const auto st = m.stream();
    m.kernel(st, 0, 10, 600);
    m.kernel(st, 5, 611, 600);
    m.kernel(st, 10, 1212, 600);
    m.wait(OrderKind::stream, st, 16, 1798);
    RecordedScenario q;
    q.client("A", m.r);
    q.client("B", kernels(1, 300, 8));
    q.play("{name: disengaged-timeslice, params: {slice: 1 us}}");
    CHECK(q.accesses == Texts{"0 A deny", "0 B deny", "0 A direct", "1000 A deny", "1812 B direct"});
    CHECK(q.jobs == Jobs{"0-1814", "0-2124"});
  }
}

TEST_CASE("recorded programs are sampled, and who has had more is denied", "[recorded][access]") {
  RecordedScenario s;
  s.device.access.interception = Duration{4};
  s.client("A", kernels(8, 600, 8));
  s.client("B", kernels(80, 20, 10));
  s.horizon = Time{3'950};
  s.play("{name: disengaged-fair-queueing, params: {sampling: 10 us, requests: 4, free_run: 0.1}}");
  CHECK(s.accesses == Texts{"1000 A deny", "1000 B deny", "1230 A sampled", "3726 A deny", "3726 B sampled",
                            "3894 B deny", "3894 B direct"});
  CHECK(s.jobs[0] == "0-612 620-1232 1240-1856 1864-2480 2488-3104 3112-3728");
  CHECK(s.jobs[1].ends_with(" 966-998 1008-3758 3768-3804 3814-3850 3860-3896 3906-3938"));
}

TEST_CASE("a recorded program is killed for a kernel that is overdue", "[recorded][access]") {
  RecordedScenario s;
  s.client("A", kernels(3, 5'000, 8));
  s.client("B", kernels(1, 100, 8));
  const std::string policy = "{name: disengaged-timeslice, params: {slice: 1 us, limit: 1 us}}";
  SECTION("under MPS") {
    s.play(policy);
    CHECK(s.lines == Texts{"0 A deny", "0 B deny", "0 A direct", "0 A released", "0 B released",
                           "10 A submitted", "10 A started", "1000 A deny", "2001 A gone", "2001 A killed",
                           "2001 B direct", "2011 B submitted", "2011 B started", "2111 B paused",
                           "2113 B gone", "2113 B finished"});
  }
  SECTION("and leaves its turn") {
    s.slice(30, 5);
    s.play(policy);
    CHECK(s.jobs == Jobs{"", "0-2118"});
  }
  SECTION("with the jobs that wait for it") {
    s.paced(0, {.jobs = 3, .period = Duration{900}, .think = {}});
    s.play(policy);
    REQUIRE(s.results.size() == 4);
    for (const JobResult& job : s.results)
      CHECK(job.outcome == (job.id.client == kA ? Outcome::killed : Outcome::finished));
  }
}

TEST_CASE("a kill takes a recorded program's copies with it", "[recorded][access]") {
  MadeRecording m;
  const auto st = m.stream();
  m.copy(st, 0, 10, 100, {Bytes{100}, MemoryKind::pinned, MemoryKind::device, true});
  m.wait(OrderKind::stream, st, 6, 106);
  RecordedScenario s;
  s.client("A", m.r);
  s.client("B", m.r);
  Script script({{60, [](Orders& o) { o.kill(kA); }}});
  s.play(script);
  CHECK(script.facts == Texts{"0 A opens 1", "0 B opens 1", "60 A exited", "137 B exited"});
  CHECK(s.jobs == Jobs{"", "0-137"});
}

TEST_CASE("what a scheduler sees of recorded programs", "[recorded][access]") {
  RecordedScenario s;
  s.client("A", kernels(1, 100, 0));
  s.client("B", kernels(1, 100, 0));
  // Both have something on the GPU up to 230, so each has used half of that; then only B has.
  SECTION("a kernel is overdue though its context does not have its turn") {
    s.slice(30, 5);
    Script script({{0, [](Orders& o) { o.watch(Duration{50}); }}, {20, [](Orders& o) {
                                                                     o.drain(kA);
                                                                     o.drain(kB);
                                                                   }}});
    s.play(script);
    CHECK(script.facts == Texts{"0 A opens 1", "0 B opens 1", "71 A overdue 51", "96 B overdue 51",
                                "230 A drained 210", "230 A activity 1 0 115", "232 A exited",
                                "245 B drained 225", "245 B activity 1 0 130", "247 B exited"});
  }
  SECTION("who gets too few channels is refused") {
    s.device.access.channels = 1;
    Script script({});
    s.play(script);
    CHECK(script.facts == Texts{"0 A opens 1", "0 B opens 1", "0 B exited", "112 A exited"});
    REQUIRE(s.results.size() == 2);
    CHECK(s.results[0].outcome == Outcome::out_of_resources);
    CHECK(s.jobs == Jobs{"0-112", ""});
  }
  SECTION("a program is there until its last kernel is over") {
    MadeRecording m;
    const auto st = m.stream();
    m.awaited_kernel(st, 0, 50);
    m.kernel(st, 63, 73, 500);
    ranges(m.r, {{0, 70}});
    RecordedScenario q;
    q.client("A", m.r);
    Script script({});
    q.play(script);
    CHECK(q.jobs[0] == "0-70");
    CHECK(script.facts == Texts{"0 A opens 1", "573 A exited"});
  }
}

}  // namespace gangway::testing

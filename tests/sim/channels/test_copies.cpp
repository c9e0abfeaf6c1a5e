// Copies of clients that submit by themselves, worked out by hand from sim/channels/README.md. Times in us.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "tests/catch.hpp"
#include "tests/sim/channels/access_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

constexpr ClientId kA{0}, kB{1}, kC{2};

// Orders what the test says at the times that it says (us; 0: before anything happens), admits everything
// that it intercepts, and remembers what it was told.
class Scripted : public Policy {
 public:
  using Step = std::pair<std::int64_t, std::function<void(Orders&)>>;
  explicit Scripted(std::vector<Step> steps) : steps_(std::move(steps)) {}

  Capabilities needs() const override {
    return {Capability::access, Capability::intercept, Capability::sampling};
  }
  void note(Time now, const Fact& fact, const View&) override {
    const auto line = [&](ClientId client, const std::string& what) {
      told_.push_back(fmt::format("{} {} {}", us(now), static_cast<char>('A' + client.index), what));
    };
    if (const auto* f = std::get_if<Submitted>(&fact)) submitted_.push_back(f->request);
    if (const auto* f = std::get_if<Drained>(&fact)) line(f->client, "drained " + us(f->overrun));
    if (const auto* f = std::get_if<Sampled>(&fact))
      line(f->client, fmt::format("sampled {} {} {}", f->requests, us(f->busy), us(f->span)));
    if (const auto* f = std::get_if<Activity>(&fact))
      line(f->client, fmt::format("activity{}{} {}", f->used ? " used" : "", f->pending ? " pending" : "",
                                  us(f->usage)));
    if (const auto* f = std::get_if<Overdue>(&fact)) line(f->client, "overdue " + us(f->age));
    if (const auto* f = std::get_if<Exited>(&fact)) line(f->client, "exited");
  }
  void decide(Time now, const View&, Orders& orders) override {
    for (const RequestId request : std::exchange(submitted_, {})) orders.admit(request);
    for (; next_ < steps_.size() && steps_[next_].first * 1000 == now.ns; ++next_)
      steps_[next_].second(orders);
    if (next_ < steps_.size()) orders.wake_at(Time{steps_[next_].first * 1000});
  }
  const Lines& told() const { return told_; }

 private:
  static std::string us(Time time) { return us(Duration{time.ns}); }
  static std::string us(Duration d) { return fmt::format("{}", static_cast<double>(d.ns) / 1000); }

  std::vector<Step> steps_;
  std::size_t next_ = 0;
  std::vector<RequestId> submitted_;
  Lines told_;
};

}  // namespace

TEST_CASE("direct access: copies go beside the requests of others, and the host waits for them") {
  const Scenario scenario = in_turn({copying(looping("A", 10), 4, 6), looping("B", 10)}, 60);
  // A's first request comes at 4, when B's is on the device, and has its turn at 10. Its next job begins when
  // the copy out is over at 26, and its request comes at 30, with B's fourth.
  const Played played = play(scenario, "passthrough");
  CHECK(starts(played, scenario) == Lines{"0 B", "10 A", "20 B", "30 A", "40 B", "50 A", "60 B"});
  CHECK(copies(played, scenario) ==
        Lines{"0-4 A in", "20-26 A out", "26-30 A in", "40-46 A out", "46-50 A in"});
  const JobResult& job = played.jobs[1];
  CHECK(job.id == JobId{kA, 0});
  CHECK(job.response() == Duration{26'000});
  CHECK(job.standalone == Duration{20'000});
  CHECK(job.copying == Duration{10'000});
  CHECK(job.launches == 1);
}

TEST_CASE(
    "a host that does not wait for kernels waits for copies, and for all requests before the copy out") {
  Client a = looping("A", 10);
  a.kernels.push_back(a.kernels[0]);
  a.blocking = false;
  a.frames_in_flight = 2;
  // Without a copy out the next frame is copied in while the device works: requests at 5 and 10, ...
  Scenario scenario = in_turn({copying(a, 5, 0)}, 59);
  Played played = play(scenario, "passthrough");
  CHECK(copies(played, scenario) == Lines{"0-5 A in", "5-10 A in", "25-30 A in", "45-50 A in"});
  CHECK(starts(played, scenario) == Lines{"5 A", "15 A", "25 A", "35 A", "45 A", "55 A"});
  // With one it begins when that is over.
  scenario = in_turn({copying(a, 0, 5)}, 59);
  played = play(scenario, "passthrough");
  CHECK(copies(played, scenario) == Lines{"20-25 A out", "45-50 A out"});
  CHECK(starts(played, scenario) == Lines{"0 A", "10 A", "25 A", "35 A", "50 A"});
  CHECK(played.jobs[0].response() == Duration{25'000});
  CHECK(played.jobs[1].response() == Duration{50'000});
}

TEST_CASE("a gap is behind the copy in, host work before the copy out") {
  Client a = looping("A", 10, 3);
  a.kernels[0].host_work = Duration{15'000};
  const Scenario scenario = in_turn({copying(a, 4, 2)}, 30);
  const Played played = play(scenario, "passthrough");
  CHECK(copies(played, scenario) == Lines{"0-4 A in", "22-24 A out", "24-28 A in"});
  CHECK(starts(played, scenario) == Lines{"7 A"});
  CHECK(played.jobs[0].response() == played.jobs[0].standalone);
}

TEST_CASE("intercepted: a copy traps as a request does, without trivial ones, and counts as a submission") {
  Client a = copying(looping("A", 10), 4, 6);
  a.trivial_requests = 0.5;
  Scenario scenario = in_turn({a}, 30);
  scenario.device.access.interception = Duration{2000};
  Played played = play(scenario, "trap-per-request");
  CHECK(copies(played, scenario) == Lines{"2-6 A in", "21-27 A out"});
  CHECK(starts(played, scenario) == Lines{"9 A"});
  // The kernel knows by the copy before it that it is watched.
  scenario.clients[0].kernels[0].trapped_time = Duration{5000};
  scenario.clients[0].kernels[0].trapped_gap = Duration{1000};
  played = play(scenario, "trap-per-request");
  CHECK(starts(played, scenario) == Lines{"10 A"});
  CHECK(copies(played, scenario) == Lines{"2-6 A in", "17-23 A out", "25-29 A in"});
}

TEST_CASE("denied, then granted: a copy waits for access") {
  Scenario scenario = in_turn({looping("A", 10), copying(looping("B", 10), 4, 0)}, 60);
  scenario.device.access.interception = Duration{1000};
  // A's request of 20 runs to 30; B's copy trapped at 0 and joins then. Its slice ends at 50, and its next
  // job's request is on the device until 58.
  const Played played = play(scenario, "{name: disengaged-timeslice, params: {slice: 20 us}}");
  CHECK(copies(played, scenario) == Lines{"30-34 B in", "44-48 B in"});
  CHECK(starts(played, scenario) == Lines{"0 A", "10 A", "20 A", "34 B", "48 B", "58 A"});
}

TEST_CASE("drained while copying: the end of the copy is awaited, however long it takes") {
  const Scenario scenario = in_turn({looping("A", 10), copying(looping("B", 5), 60, 0)}, 125);
  // B's slice is over at 50, its copy at 90. It is charged 40, which is two slices: it is passed over once.
  const Played played = play(scenario, "{name: disengaged-timeslice, params: {slice: 20 us, limit: 15 us}}");
  CHECK(copies(played, scenario) == Lines{"30-90 B in"});
  CHECK(starts(played, scenario) == Lines{"0 A", "10 A", "20 A", "90 A", "100 A", "110 A", "120 A"});
  CHECK(accesses(played, scenario) == Lines{"0 A deny", "0 B deny", "0 A direct", "20 A deny", "30 B direct",
                                            "50 B deny", "90 A direct", "110 A deny", "120 A direct"});
}

TEST_CASE("a drain waits for copies that wait for an engine, and Activity tells of them") {
  Scenario scenario = in_turn({copying(looping("A", 10), 30, 0), copying(looping("B", 10), 20, 0)}, 80);
  const auto hold = [](Orders& orders) {
    for (const ClientId client : {kA, kB}) {
      orders.access(client, Access::deny);
      orders.drain(client);
    }
  };
  Scripted policy({{10, hold}, {60, [](Orders& orders) { orders.drain(kA); }}});
  const Played played = play(scenario, policy);
  CHECK(copies(played, scenario) == Lines{"0-30 A in", "30-50 B in"});
  // Each tries to submit its request in the instant in which its copy has ended, and waits.
  CHECK(policy.told() == Lines{"30 A drained 20", "30 A activity pending 0", "30 A activity used pending 0",
                               "50 B drained 40", "50 B activity pending 0", "50 B activity used pending 0",
                               "60 A drained 0", "60 A activity pending 0"});
  CHECK(starts(played, scenario).empty());
}

TEST_CASE("what ends in one instant is seen in the order of the clients, whatever it was") {
  const auto drained = [](const Client& a, const Client& b) {
    Scenario scenario = in_turn({a, b}, 300);
    scenario.device.access.poll = Duration{100'000};
    Scripted policy({{5, [](Orders& orders) {
                        for (const ClientId client : {kA, kB}) {
                          orders.access(client, Access::deny);
                          orders.drain(client);
                        }
                      }}});
    play(scenario, policy);
    Lines lines = policy.told();
    std::erase_if(lines, [](const std::string& line) { return line.find("drained") == std::string::npos; });
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  // One runs its request from 0 to 10, and the other one copies. Each draw is for the same client in both.
  const Lines first = drained(looping("A", 10), copying(looping("B", 10), 10, 0));
  REQUIRE(first.size() == 2);
  CHECK(first == drained(copying(looping("A", 10), 10, 0), looping("B", 10)));
}

TEST_CASE("killed while copying: the engine is free at once, and those that wait are gone") {
  Scenario scenario = in_turn(
      {copying(looping("A", 10), 30, 0), copying(looping("B", 10), 20, 0), copying(looping("C", 10), 10, 0)},
      55);
  scenario.device.h2d.latency = Duration{3000};
  scenario.device.h2d.queued_latency = Duration{1000};
  const auto kill = [](ClientId client) { return [=](Orders& orders) { orders.kill(client); }; };
  Scripted running({{10, kill(kA)}});
  Played played = play(scenario, running);
  // B's is not behind one that ended, C's is.
  CHECK(copies(played, scenario) == Lines{"0-10 A in", "10-33 B in", "33-44 C in"});
  CHECK(starts(played, scenario) == Lines{"33 B", "44 C"});
  CHECK(running.told() == Lines{"10 A exited"});
  CHECK(played.jobs[0].id == JobId{kA, 0});
  CHECK(played.jobs[0].outcome == Outcome::killed);
  CHECK(played.jobs[0].copying == Duration{10'000});
  Scripted waiting({{10, kill(kB)}, {40, kill(kC)}});
  scenario.horizon = Time{80'000};
  played = play(scenario, waiting);
  CHECK(copies(played, scenario) == Lines{"0-33 A in", "33-40 C in", "43-76 A in"});
}

TEST_CASE("a client whose request never ends is killed while its next job is copied in") {
  Client a = copying(looping("A", 10), 45, 0);
  a.blocking = false;
  a.frames_in_flight = 2;
  a.kernels[0].never_ends = 0;
  Client b = copying(looping("B", 10), 10, 0);
  b.repeat = {};
  const Scenario scenario = in_turn({a, b}, 200);
  const Played played = play(scenario, "{name: disengaged-timeslice, params: {slice: 50 us, limit: 20 us}}");
  CHECK(copies(played, scenario) == Lines{"0-45 A in", "45-70001ns A in", "70001ns-80001ns B in"});
  CHECK(starts(played, scenario) == Lines{"45 A", "80001ns B"});
  CHECK(played.jobs[0].outcome == Outcome::killed);
  CHECK(played.jobs[1].outcome == Outcome::killed);
  CHECK(played.jobs[2].outcome == Outcome::finished);
}

TEST_CASE("both directions on a bus are slower") {
  Client a = copying(looping("A", 10), 0, 30), b = copying(looping("B", 5), 30, 0);
  a.repeat = b.repeat = {};
  Scenario scenario = in_turn({a, b}, 100);
  scenario.device.bus = Bandwidth{1'500'000'000};
  // B is alone for 10, then each copies 3/4 of a byte in a ns: B's 20 us left take 26.667 (rounded up). A has
  // 30 - 20.00025 left, alone.
  const Played played = play(scenario, "passthrough");
  CHECK(copies(played, scenario) == Lines{"0-36667ns B in", "10-46667ns A out"});
  CHECK(starts(played, scenario) == Lines{"0 A", "36667ns B"});
}

TEST_CASE("sampled: copies are let through and counted for nothing, but they take time") {
  Scenario scenario = in_turn({copying(looping("A", 10), 4, 6)}, 60);
  scenario.device.access.interception = Duration{1000};
  const auto sampled = [&](std::int64_t us, std::int64_t requests) {
    Scripted policy({{0, [](Orders& orders) { orders.access(kA, Access::deny); }},
                     {5, [=](Orders& orders) { orders.sample(kA, Duration{us * 1000}, requests); }}});
    const Played played = play(scenario, policy);
    Lines told = policy.told();
    CHECK(told.front() == "1 A activity pending 0");  // the copy in, which joins at 5
    told.erase(told.begin());
    CHECK(copies(played, scenario).front() == "5-9 A in");
    CHECK(starts(played, scenario).front() == "10 A");
    return told;
  };
  // Until the second request ends at 43, less four traps; the fifth ends at 44, before anything is allowed.
  CHECK(sampled(40, 2) == Lines{"43 A sampled 2 20 34", "43 A activity used 20", "44 A activity pending 0"});
  // The span is over at 25; the copy out runs from 21 to 27. Then comes the next job's copy in.
  CHECK(sampled(20, 2) == Lines{"27 A sampled 1 10 20", "27 A activity used 10", "28 A activity pending 0"});
  // The trap of the copy out ends with the span: too late, but the client's time.
  CHECK(sampled(16, 2) == Lines{"21 A sampled 1 10 14", "21 A activity used pending 10"});
  // One request is enough, and a copy is none.
  CHECK(sampled(40, 1) == Lines{"20 A sampled 1 10 14", "20 A activity used 10", "21 A activity pending 0"});
}

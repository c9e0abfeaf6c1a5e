// What must hold under NEON's policies whatever the clients do.
#include <algorithm>
#include <map>
#include <set>

#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/channels/access_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

const std::vector<std::string> kPolicies{
    "passthrough",
    "trap-per-request",
    "{name: timeslice, params: {slice: 300 us}}",
    "{name: disengaged-timeslice, params: {slice: 300 us}}",
    "{name: disengaged-fair-queueing, params: {sampling: 100 us, requests: 8}}",
    "{name: disengaged-fair-queueing, params: {sampling: 100 us, statistics: vendor, randomise: 0.3}}",
    "{name: disengaged-fair-queueing, params: {sampling: 100 us, requests: 8, subset: 1, randomise: 0.2}}"};

// A few clients that loop, some with several requests, gaps and copies.
Scenario any_clients(std::uint64_t number) {
  Stream random(number, "clients", {});
  std::vector<Client> clients;
  const std::uint64_t count = 1 + random.below(4);
  for (std::uint64_t c = 0; c < count; ++c) {
    Client client =
        looping(std::string(1, static_cast<char>('A' + c)), 1 + static_cast<std::int64_t>(random.below(60)),
                static_cast<std::int64_t>(random.below(3) * random.below(40)));
    const std::uint64_t kernels = 1 + random.below(3);
    for (std::uint64_t k = 1; k < kernels; ++k) {
      client.kernels.push_back(looping("", 1 + static_cast<std::int64_t>(random.below(40))).kernels[0]);
      if (random.below(4) == 0) client.kernels.back().channel = 1;
    }
    client.channels = 2;
    client.blocking = random.below(2) == 0;
    client.frames_in_flight = 1 + static_cast<std::uint32_t>(random.below(3));
    if (random.below(3) == 0)
      client.repeat = {1 + static_cast<std::uint32_t>(random.below(60)), std::nullopt, Duration{0}};
    if (random.below(3) == 0) client.arrive = Duration{static_cast<std::int64_t>(random.below(2'000'000))};
    if (random.below(2) == 0)
      client = copying(client, static_cast<std::int64_t>(random.below(3) * random.below(30)),
                       static_cast<std::int64_t>(random.below(3) * random.below(30)));
    clients.push_back(client);
  }
  Scenario scenario = in_turn(std::move(clients), 6000);
  scenario.device.h2d.latency = Duration{static_cast<std::int64_t>(random.below(2) * 700)};
  if (random.below(2) == 0) scenario.device.bus = Bandwidth{1'000'000'000};
  ChannelCosts& costs = scenario.device.access;
  costs.whole_queue = random.below(2) == 0;
  costs.context_switch = Duration{static_cast<std::int64_t>(random.below(3) * 2500)};
  costs.interception = Duration{static_cast<std::int64_t>(random.below(3) * 3000)};
  costs.poll = Duration{static_cast<std::int64_t>(random.below(3) * 20'000)};
  return scenario;
}

// One request at a time, each submitted before it starts, in order within its client and channel, behind the
// copy in; one copy at a time and direction; every job that is finished has had all its requests once, and
// then been copied out.
void check_laws(const Played& played, const Scenario& scenario) {
  std::optional<LaunchId> running;
  Time last;
  std::map<LaunchId, Time> submitted;
  std::map<std::pair<std::uint32_t, std::uint32_t>, LaunchId> latest;  // by client and channel
  std::map<JobId, std::size_t> ended;
  std::map<CopyDirection, JobId> copied_now;
  std::set<std::pair<JobId, CopyDirection>> copied;
  for (const Record& r : played.records) {
    REQUIRE(r.time >= last);
    last = r.time;
    const Client& client = scenario.clients[r.job.client.index];
    switch (r.mark) {
      case Mark::submitted:
        submitted[r.launch] = r.time;
        break;
      case Mark::started: {
        REQUIRE_FALSE(running);
        REQUIRE(submitted.contains(r.launch));
        REQUIRE((client.copy_in.count == 0 || copied.contains({r.job, CopyDirection::to_device})));
        LaunchId& before = latest[{r.job.client.index, client.kernels[r.kernel].channel}];
        REQUIRE(before < r.launch);
        before = r.launch;
        running = r.launch;
        break;
      }
      case Mark::gone:
        REQUIRE(running == r.launch);
        running.reset();
        ++ended[r.job];
        break;
      case Mark::finished:
        REQUIRE(ended[r.job] == client.kernels.size());
        REQUIRE((client.copy_out.count == 0 || copied.contains({r.job, CopyDirection::to_host})));
        break;
      case Mark::copy_begins:
        REQUIRE(copied_now.emplace(r.direction, r.job).second);
        if (r.direction == CopyDirection::to_host) REQUIRE(ended[r.job] == client.kernels.size());
        break;
      case Mark::copy_ends:
        REQUIRE(copied_now.at(r.direction) == r.job);
        copied_now.erase(r.direction);
        REQUIRE(copied.emplace(r.job, r.direction).second);
        break;
      default:
        break;
    }
  }
}

// The useful work of jobs that are finished is the same whatever the policy does.
void check_work(const Played& played, const Scenario& scenario) {
  const bool fixed = !scenario.device.bus;  // else copies take longer beside others
  const Device& device = scenario.device;
  for (const JobResult& job : played.jobs) {
    if (job.outcome != Outcome::finished) continue;
    const Client& client = scenario.clients[job.id.client.index];
    Duration requests, copying;
    for (const Kernel& kernel : client.kernels) requests += kernel.time;
    if (client.copy_in.count > 0) copying += device.h2d.latency + Duration{client.copy_in.count};
    if (client.copy_out.count > 0) copying += device.d2h.latency + Duration{client.copy_out.count};
    REQUIRE(job.executing == requests);
    REQUIRE(job.copying >= copying);
    if (fixed) REQUIRE(job.copying == copying);
    REQUIRE(job.copying <= copying + copying);  // the other direction takes half of the bus at most
    REQUIRE(job.launches == static_cast<std::int64_t>(client.kernels.size()));
  }
}

// Of the device's busy time.
double share(const std::vector<std::int64_t>& usage, std::size_t client) {
  std::int64_t all = 0;
  for (const std::int64_t u : usage) all += u;
  return static_cast<double>(usage[client]) / static_cast<double>(all);
}

}  // namespace

TEST_CASE("the laws of requests hold under every policy that controls access", "[long]") {
  for (const int i : case_numbers(60, 6000))
    for (const std::string& policy : kPolicies) {
      const Scenario scenario = any_clients(static_cast<std::uint64_t>(i));
      INFO(i << " " << policy);
      const Played played = play(scenario, policy);
      check_laws(played, scenario);
      check_work(played, scenario);
      CHECK(played.totals.finished > 0);
    }
}

TEST_CASE("direct access loses no time, and without interception nobody pays for it", "[long]") {
  for (const int i : case_numbers(60, 6000)) {
    Scenario scenario = any_clients(static_cast<std::uint64_t>(i));
    scenario.device.access.interception = Duration{3'000'000};  // would be seen
    const Played played = play(scenario, "passthrough");
    for (const Record& r : played.records) {
      if (r.mark == Mark::submitted) CHECK(r.amount == 0);
      CHECK(r.mark != Mark::access);
    }
    // A client that is alone has its standalone time, job by job.
    Scenario alone = scenario;
    alone.clients.resize(1);
    alone.device.access.interception = {};
    const Client& client = alone.clients[0];
    if (client.frames_in_flight > 1) continue;
    for (const JobResult& job : play(alone, "{name: disengaged-timeslice, params: {slice: 60 s}}").jobs)
      if (job.finish) CHECK(job.response() == job.standalone);
  }
}

TEST_CASE("under both timeslices saturating clients have the same share, within one overuse", "[long]") {
  for (const int i : case_numbers(40, 4000)) {
    Stream random(static_cast<std::uint64_t>(i), "saturating", {});
    const std::uint64_t count = 2 + random.below(4);
    std::vector<Client> clients;
    std::int64_t longest = 0;
    for (std::uint64_t c = 0; c < count; ++c) {
      // From far below a slice to several of them, such that they fit badly.
      const auto us =
          static_cast<std::int64_t>(random.below(3) == 0 ? 51 + random.below(450) : 1 + random.below(99));
      clients.push_back(looping(std::string(1, static_cast<char>('A' + c)), us));
      longest = std::max(longest, us);
    }
    const Scenario scenario = in_turn(clients, 100'000);
    for (const std::string policy : {"timeslice", "disengaged-timeslice"}) {
      INFO(i << " " << policy);
      const auto used = usage(play(scenario, "{name: " + policy + ", params: {slice: 100 us}}"), scenario);
      // A slice, and what a client can owe: the rest of its longest request and a slice.
      const std::int64_t most = (100 + 100 + longest) * 1000;
      const auto [least, greatest] = std::minmax_element(used.begin(), used.end());
      CHECK(*greatest - *least <= 2 * most);
    }
  }
}

TEST_CASE("under disengaged fair queueing stationary clients are slowed down by at most 1.1 N", "[long]") {
  for (const int i : case_numbers(12, 600)) {
    Stream random(static_cast<std::uint64_t>(i), "stationary", {});
    const std::uint64_t count = 2 + random.below(3);
    std::vector<Client> clients;
    for (std::uint64_t c = 0; c < count; ++c)
      clients.push_back(looping(std::string(1, static_cast<char>('A' + c)),
                                10 + static_cast<std::int64_t>(random.below(1500))));
    Scenario scenario = in_turn(clients, 4'000'000);
    scenario.device.access.poll = Duration{100'000};
    const Played played = play(scenario, "disengaged-fair-queueing");
    const auto used = usage(played, scenario);
    for (std::size_t c = 0; c < used.size(); ++c) {
      INFO(i << " client " << c << " of " << count << ", requests of " << clients[c].kernels[0].time.ns
             << " ns");
      CHECK(4e9 / static_cast<double>(used[c]) <= 1.1 * static_cast<double>(count));
      CHECK(share(used, c) < 1.1 / static_cast<double>(count) + 0.02);
    }
  }
}

TEST_CASE("disengaged fair queueing leaves the device idle only while it drains and samples", "[long]") {
  for (const int i : case_numbers(20, 1000)) {
    Stream random(static_cast<std::uint64_t>(i), "busy", {});
    std::vector<Client> clients;
    const std::uint64_t count = 1 + random.below(4);
    for (std::uint64_t c = 0; c < count; ++c)
      clients.push_back(looping(std::string(1, static_cast<char>('A' + c)),
                                1 + static_cast<std::int64_t>(random.below(300))));
    Scenario scenario = in_turn(clients, 300'000);
    scenario.device.access.poll = Duration{50'000};
    scenario.device.access.interception = Duration{5000};
    const Played played = play(scenario, "disengaged-fair-queueing");
    // Between two requests nothing is lost but the wait until a drain or the end of a sampling is seen, and
    // one interception.
    std::optional<Time> idle_since = Time{0};
    for (const Record& r : played.records) {
      if (r.mark == Mark::gone) idle_since = r.time;
      if (r.mark != Mark::started) continue;
      CHECK((r.time - *idle_since).ns <= 50'000 + 5000);
    }
  }
}

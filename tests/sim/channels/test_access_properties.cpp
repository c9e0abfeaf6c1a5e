// What must hold under NEON's policies whatever the clients do.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

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
    "{name: stride-timeslice, params: {slice: 300 us}}",
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

// What disengaged fair queueing takes stationary clients to have had of the device, told from the trace:
// their requests while they are sampled, and parts in proportion to their sizes of each free run, until its
// drain is seen. Clients that always have a request on the device or waiting, from the beginning on.
class FairCharges {
 public:
  explicit FairCharges(const Scenario& scenario) : poll_(ns(scenario.device.access.poll)) {
    for (const Client& client : scenario.clients) {
      free_.insert(sizes_.size());
      sizes_.push_back(ns(client.kernels[0].time));
    }
    charged_.resize(sizes_.size());
    had_ = in_free_run_ = charged_;
  }

  // Returns whether an engagement has ended with this.
  bool hear(const Record& record) {
    const std::size_t client = record.job.client.index;
    if (record.mark == Mark::gone) {
      had_[client] += sizes_[client];
      (sampling_ ? charged_ : in_free_run_)[client] += sizes_[client];
    }
    if (record.mark != Mark::access || record.amount == static_cast<std::int64_t>(Access::deny)) return false;
    const bool was_sampling = std::exchange(sampling_, record.amount == kSampled);
    if (sampling_ && !was_sampling) charge_free_run(record.time);
    const bool over = was_sampling && !sampling_;
    if (over) {
      began_ = record.time;
      free_.clear();
      std::fill(in_free_run_.begin(), in_free_run_.end(), 0.0);
    }
    if (!sampling_) free_.insert(client);
    return over;
  }

  Time began() const { return began_; }  // the latest free run
  double had(std::size_t client) const { return had_[client]; }
  double ahead(std::size_t client, std::size_t of) const { return charged_[client] - charged_[of]; }

  // The most that a client is ahead of another one at the end of an engagement. Before, if both were free, it
  // was ahead by less than the length of a free run; if only it was free, it was behind. Then a free run
  // gives it its part until nothing is on the device any more, as is seen: at most one request of each behind
  // the barrier.
  double most(std::size_t client, std::size_t of) const {
    const double size = sizes_[client], other = sizes_[of];
    const double sampling = std::min(kRequests, std::ceil(kWindow / size)) * size;
    double drained = kFreeRun * kWindow * static_cast<double>(sizes_.size()) + poll_;
    for (const double each : sizes_) drained += each;
    return drained + drained * std::max(0.0, size - other) / (size + other) + sampling;
  }

 private:
  static constexpr double kWindow = 5e6, kRequests = 32, kFreeRun = 5;  // the policy's defaults
  static double ns(Duration time) { return static_cast<double>(time.ns); }

  // Turns are a request each. So of two clients one has had one more at most, and only until the drain is
  // seen nobody has the device.
  void charge_free_run(Time drained) {
    double all = 0;
    for (const std::size_t client : free_) all += sizes_[client];
    for (const std::size_t client : free_) {
      const double part = sizes_[client] / all;
      const double charge = ns(drained - began_) * part;
      CHECK(std::abs(charge - in_free_run_[client]) <= sizes_[client] + poll_ * part);
      charged_[client] += charge;
    }
  }

  double poll_;
  std::vector<double> sizes_, charged_, had_, in_free_run_;  // by client
  std::set<std::size_t> free_;                               // in the latest free run
  Time began_;
  bool sampling_ = false;
};

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
    INFO(i << ", " << count << " clients");
    FairCharges charges(scenario), ended(scenario);  // ended: as of the end of the last engagement
    for (const Record& r : played.records) {
      if (!charges.hear(r)) continue;
      for (std::size_t c = 0; c < count; ++c)
        for (std::size_t other = 0; other < count; ++other) {
          INFO("clients " << c << " and " << other << " at " << r.time.ns);
          CHECK(charges.ahead(c, other) < charges.most(c, other));
        }
      ended = charges;
    }
    // Who is behind is owed that, and gets it in later free runs: that is not lost in polls and estimates,
    // and does not grow with the run.
    const auto length = static_cast<double>(ended.began().ns);
    for (std::size_t c = 0; c < count; ++c) {
      INFO("client " << c << ", requests of " << clients[c].kernels[0].time.ns << " ns");
      double share = static_cast<double>(count) * ended.had(c);
      for (std::size_t other = 0; other < count; ++other) share += ended.ahead(other, c);
      CHECK(length <= 1.1 * share);
      CHECK(share <= 1.1 * length);
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

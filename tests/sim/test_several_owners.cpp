// Several GPUs with an owner each: schedules worked out by hand from models/policy/README.md, "On several
// GPUs", and what must hold of every such policy. A launch takes 10, a flag is seen after 2, a drain lasts 6
// of which 3 are useful, and the report follows the last block by 5.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/random_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

Client urgent(Client client, std::int32_t priority) {
  client.priority = priority;
  return client;
}

Client only_on(Client client, GpuSet gpus) {
  client.gpus = gpus;
  return client;
}

Scenario on(std::int64_t gpus, std::vector<Client> clients) {
  Scenario scenario{std::move(clients)};
  scenario.device.gpus = gpus;
  return scenario;
}

// At no cost.
Scenario free_on(std::int64_t gpus, std::vector<Client> clients) {
  Scenario scenario = on(gpus, std::move(clients));
  scenario.mechanism = "ideal";
  return scenario;
}

char name_of(JobId job) { return static_cast<char>('A' + job.client.index); }

// "0: 53 C launch": the GPU in front.
Lines lines(const Played& played) {
  Lines lines;
  for (const Record& r : played.records) {
    std::string what;
    if (r.mark == Mark::launch_ordered) what = "launch";
    if (r.mark == Mark::started) what = "start";
    if (r.mark == Mark::evict_ordered) what = "evict";
    if (r.mark == Mark::gone) what = fmt::format("gone {}", r.amount);
    if (r.mark == Mark::left) what = gangway::name_of(r.why);
    if (!what.empty()) lines.push_back(fmt::format("{}: {} {} {}", r.gpu, r.time.ns, name_of(r.job), what));
  }
  return lines;
}

// Every launch when it is gone: "A on 1: 0..20 20", from its start to its end, and the block-tasks that it
// did.
Lines stays(const Played& played, std::int64_t unit = 1) {
  Lines stays;
  std::map<LaunchId, Time> began;
  for (const Record& r : played.records) {
    if (r.mark == Mark::started) began[r.launch] = r.time;
    if (r.mark != Mark::gone) continue;
    REQUIRE(began[r.launch].ns % unit == 0);
    REQUIRE(r.time.ns % unit == 0);
    stays.push_back(fmt::format("{} on {}: {}..{} {}", name_of(r.job), r.gpu, began[r.launch].ns / unit,
                                r.time.ns / unit, r.amount));
  }
  return stays;
}

Scenario free_in_hundreds(std::int64_t gpus, std::vector<Client> clients) {
  Scenario scenario = hundreds(std::move(clients));
  scenario.device.gpus = gpus;
  scenario.mechanism = "ideal";
  return scenario;
}

}  // namespace

TEST_CASE("several owners: the least urgent one leaves, and goes on where a GPU is free first", "[gpus]") {
  // At 40 C is more urgent than both owners; B is the least urgent. It sees the flag at 42 and is gone at 48
  // with 32 + 3 done. At 75 A's GPU is free, and B does the other 65 there.
  const Played played = play(
      on(2, {urgent(client("A", 0, 60), 1), client("B", 0, 100), urgent(client("C", 40, 30), 2)}), "piv");
  CHECK(lines(played) == Lines{"0: 0 A launch", "1: 0 B launch", "0: 10 A start", "1: 10 B start",
                               "1: 40 B evict", "1: 48 B gone 35", "1: 53 B evicted", "1: 53 C launch",
                               "1: 63 C start", "0: 70 A gone 60", "0: 75 A completed", "0: 75 B launch",
                               "0: 85 B start", "1: 93 C gone 30", "1: 98 C completed", "0: 150 B gone 65",
                               "0: 155 B completed"});
  CHECK(played.totals.evictions == 1);
  CHECK(played.evictions_from == std::vector<std::int64_t>{0, 1});
  CHECK(played.totals.eviction_delay == Duration{8});
  CHECK(played.totals.executing == Duration{60 + 38 + 30 + 65});
  CHECK(played.totals.utilisation() == Approx(193.0 / (2 * 155)));
}

TEST_CASE("several owners: one eviction for each that waits", "[gpus]") {
  // Both owners are as urgent, so at 40 the first by number leaves for C. E is not more urgent. At 43 the
  // first GPU is being vacated for C, so D needs the second. A and E are as urgent, and A arrived first.
  const Played played = play(on(2, {client("A", 0, 100), client("B", 0, 100), urgent(client("C", 40, 30), 1),
                                    urgent(client("D", 43, 30), 1), client("E", 41, 10)}),
                             "piv");
  CHECK(stays(played) == Lines{"A on 0: 10..48 35", "B on 1: 10..51 38", "C on 0: 63..93 30",
                               "D on 1: 66..96 30", "A on 0: 108..173 65", "B on 1: 111..173 62",
                               "E on 0: 188..198 10"});
  CHECK(played.evictions_from == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("several owners: delays of evictions that overlap are each counted whole", "[gpus]") {
  // The drains take 6 and 30: A is gone 8 after its eviction at 40, B 32 after its own at 43.
  Client slow = client("B", 0, 100);
  slow.kernels[0].block_task_length = Duration{30};
  const Played played =
      play(on(2, {client("A", 0, 100), slow, urgent(client("C", 40, 30), 1), urgent(client("D", 43, 30), 1)}),
           "piv");
  CHECK(played.totals.evictions == 2);
  CHECK(played.totals.eviction_delay == Duration{8 + 32});
}

TEST_CASE("several owners: only where a client may run", "[gpus]") {
  SECTION("a GPU that it may not use stays free") {
    const Played played = play(on(2, {only_on(client("A", 0, 100), {DeviceId{1}}), client("B", 0, 20),
                                      only_on(client("C", 5, 30), {DeviceId{1}})}),
                               "fcfs");
    CHECK(stays(played) == Lines{"B on 0: 10..30 20", "A on 1: 10..110 100", "C on 1: 125..155 30"});
  }
  SECTION("who may use it goes first, however late it came") {
    const Played played = play(on(2, {only_on(client("A", 0, 100), {DeviceId{1}}),
                                      only_on(client("B", 0, 30), {DeviceId{1}}), client("C", 5, 20)}),
                               "fcfs");
    CHECK(stays(played) == Lines{"C on 0: 15..35 20", "A on 1: 10..110 100", "B on 1: 125..155 30"});
  }
  SECTION("an urgent one displaces who is there, and that one the least urgent elsewhere") {
    // C displaces A at 40, though B is less urgent. From 53 A waits and displaces B, which is gone at 61 with
    // 48 done; at 66 A goes on there. B goes on at 98, when C is through.
    const Played played = play(on(2, {urgent(client("A", 0, 100), 1), client("B", 0, 100),
                                      only_on(urgent(client("C", 40, 30), 2), {DeviceId{0}})}),
                               "piv");
    CHECK(stays(played) == Lines{"A on 0: 10..48 35", "B on 1: 10..61 48", "C on 0: 63..93 30",
                                 "A on 1: 76..141 65", "B on 0: 108..160 52"});
    CHECK(played.evictions_from == std::vector<std::int64_t>{1, 1});
  }
}

TEST_CASE("several owners: rr on four GPUs", "[gpus]") {
  // Quanta of 30. At 40 all four are over and one job waits, so the first GPU is enough for it; the others'
  // owners get another quantum. Likewise at 70. At 100 C's and D's are over, and B waits, but for it the
  // first GPU has been vacated since 93.
  Scenario scenario = hundreds({client("A", 0, 100), client("B", 0, 100), client("C", 0, 100),
                                client("D", 0, 100), client("E", 0, 100)});
  scenario.device.gpus = 4;
  const Played played = play(scenario, "{name: rr, params: {quantum: 3 us}}");
  CHECK(stays(played, 100) == Lines{"A on 0: 10..48 35", "B on 1: 10..78 65", "E on 0: 63..101 35",
                                    "C on 2: 10..110 100", "D on 3: 10..110 100", "B on 0: 116..151 35",
                                    "A on 1: 93..158 65", "E on 2: 125..190 65"});
  CHECK(played.evictions_from == std::vector<std::int64_t>{2, 1, 0, 0});
}

TEST_CASE("several owners: sjf and srt displace the longest", "[gpus]") {
  // By total: C, of 80, displaces A, of 100. B is through at 60.
  CHECK(stays(play(free_on(2, {client("A", 0, 100), client("B", 0, 60), client("C", 20, 80)}), "sjf")) ==
        Lines{"A on 1: 0..20 20", "B on 0: 0..60 60", "C on 1: 20..100 80", "A on 0: 60..140 80"});
  // By what is left: at 20 A has 80 and B 40, so C displaces A. At 25 B has 35 and C 25, so D displaces B.
  CHECK(stays(play(
            free_on(2, {client("A", 0, 100), client("B", 0, 60), client("C", 20, 30), client("D", 25, 10)}),
            "srt")) == Lines{"A on 1: 0..20 20", "B on 0: 0..25 25", "D on 0: 25..35 10", "C on 1: 20..50 30",
                             "B on 0: 35..70 35", "A on 1: 50..130 80"});
}

TEST_CASE("several owners: cfs deals out rounds over both GPUs", "[gpus]") {
  // A round of A, B, C: 20 each. At 20 both quanta are over and only C waits, so A leaves, and B's quantum is
  // the epoch, 60. From 40 a round of A and C, 30 each; at 80 one of A and B, at 110 one of C and A.
  const Played played =
      play(free_in_hundreds(2, {client("A", 0, 100), client("B", 0, 100), client("C", 0, 100)}),
           "{name: cfs, params: {epoch: 6 us}}");
  CHECK(stays(played, 100) == Lines{"A on 0: 0..20 20", "C on 0: 20..40 20", "A on 0: 40..70 30",
                                    "B on 1: 0..80 80", "C on 0: 70..100 30", "A on 1: 80..110 30",
                                    "B on 0: 100..120 20", "A on 0: 120..140 20", "C on 1: 110..160 50"});
}

TEST_CASE("several owners: frs compares those that wait", "[gpus]") {
  // Least quantum 10. All slowdowns are 1 at 0: A and B for 10. At 10 C waits, so A leaves, and B gets 10
  // more. 10: A 1, C 60/50: C for 120 - 100 = 20. 20: B leaves for A; A 1.1, B 1: A for 110 - 100 = 10. 30:
  // both quanta are over, one waits: C leaves, A gets 10 more. B 1.1, C 1.2: C for 120 - 110 = 10. 40: C
  // leaves, A gets 10 more. B 1.2, C 1.2: B, which is the first client, for 10. 50: B leaves, A gets 10 more.
  // B 1.2, C 1.4: C for 140 - 120 = 20, which is all it has left. 60: A leaves for B; A 1.1, B 1.3: B for 130
  // - 110 = 20. 70: C is through, and nobody waits any more.
  const Played played =
      play(free_in_hundreds(2, {client("A", 0, 100), client("B", 0, 100), client("C", 0, 50)}),
           "{name: frs, params: {minimum_quantum: 1 us}}");
  CHECK(stays(played, 100) == Lines{"A on 0: 0..10 10", "B on 1: 0..20 20", "C on 0: 10..30 20",
                                    "C on 0: 30..40 10", "B on 0: 40..50 10", "A on 1: 20..60 40",
                                    "C on 0: 50..70 20", "A on 0: 70..120 50", "B on 1: 60..130 70"});
}

TEST_CASE("several owners: dprr has one pair of queues for all GPUs", "[gpus]") {
  // Quotas are 10 (p + 1): C has 30. A and B take turns on the other GPU, each going to the inactive queue,
  // which the other one's choice leaves as the only one with somebody in it, so that the queues change
  // places. 30: C leaves for B, A's quota is renewed. 40: B leaves for C. 50: A is through.
  const Played played =
      play(free_in_hundreds(2, {client("A", 0, 40), client("B", 0, 30), urgent(client("C", 0, 60), 2)}),
           "{name: dprr, params: {quota: 1 us}}");
  CHECK(stays(played, 100) == Lines{"A on 1: 0..10 10", "B on 1: 10..20 10", "C on 0: 0..30 30",
                                    "B on 0: 30..40 10", "A on 1: 20..50 30", "B on 1: 50..60 10",
                                    "C on 0: 40..70 30"});
}

TEST_CASE("several owners: pkm launches slices on both GPUs", "[gpus]") {
  // Slices of one block-task, which take 100 as a wave does; the report comes 1 after the last block. At 111
  // both GPUs are free, and C, which is the most urgent, takes the first.
  std::vector<Client> clients{client("A", 0, 100), client("B", 0, 100), urgent(client("C", 20, 100), 1)};
  for (Client& c : clients) c.kernels[0].block_tasks = {c.name == "C" ? 1 : 2};
  Scenario scenario = on(2, clients);
  scenario.mechanism = "slice";
  const Played played = play(scenario, "{name: pkm, params: {slice: block-tasks}}");
  CHECK(stays(played) == Lines{"A on 0: 10..110 1", "B on 1: 10..110 1", "C on 0: 121..221 1",
                               "A on 1: 121..221 1", "B on 0: 232..332 1"});
}

TEST_CASE("several owners: one that lingers goes first, without an eviction", "[gpus]") {
  // A lingers from 35, its next kernel would come at 38. At 36 C displaces it: B is more urgent.
  Client two = urgent(client("A", 0, 20), 1);
  two.kernels.push_back(two.kernels[0]);
  two.kernels[1].gap = Duration{3};
  const Played played = play(on(2, {two, urgent(client("B", 0, 100), 2), urgent(client("C", 36, 30), 3)}),
                             "{name: piv, params: {linger: 5 ns}}");
  CHECK(stays(played) ==
        Lines{"A on 1: 10..30 20", "C on 1: 46..76 30", "B on 0: 10..110 100", "A on 1: 91..111 20"});
  CHECK(played.totals.evictions == 0);
}

TEST_CASE("several owners: a free GPU is better than that of one that lingers", "[gpus]") {
  Client two = client("A", 0, 20);
  two.kernels.push_back(two.kernels[0]);
  two.kernels[1].gap = Duration{3};
  const Played played =
      play(on(2, {two, urgent(client("B", 36, 30), 3)}), "{name: piv, params: {linger: 5 ns}}");
  CHECK(stays(played) == Lines{"A on 0: 10..30 20", "A on 0: 48..68 20", "B on 1: 46..76 30"});
}

TEST_CASE("several owners: clients take turns at copying in to the GPUs, and copy out from where they ran",
          "[gpus]") {
  // A and C copy in to GPU 0, one after the other: 0..25 and 25..50; B to GPU 1, 0..25. A leaves GPU 0 at 60
  // and B GPU 1 at 140. C runs on GPU 0 from 60 and copies out from there.
  std::vector<Client> clients{client("A", 0, 20), client("B", 0, 100), client("C", 0, 20)};
  for (Client& c : clients) c.copy_in = c.copy_out = Bytes{20};
  Lines copies;
  for (const Record& r : play(on(2, clients), "fcfs").records)
    if (r.mark == Mark::copy_ends)
      copies.push_back(fmt::format("{}: {} {} {}", r.gpu, r.time.ns, name_of(r.job),
                                   r.direction == CopyDirection::to_device ? "in" : "out"));
  CHECK(copies ==
        Lines{"0: 25 A in", "1: 25 B in", "0: 50 C in", "0: 85 A out", "0: 120 C out", "1: 165 B out"});
}

namespace {

// Of each job: whether it waits for a GPU, and on which it is.
struct Whereabouts {
  bool waits = false;
  std::optional<std::uint8_t> gpu;
};

// Every block-task is done exactly once, by a client on a GPU that it may use, one owner on each, and each
// job on one at a time. `conserving`: no GPU is free that one which waits may use.
void check_owners(const Scenario& scenario, const Played& played, bool conserving) {
  std::map<std::pair<JobId, std::uint32_t>, std::int64_t> done;
  std::map<std::uint8_t, LaunchId> owners;
  std::map<JobId, Whereabouts> jobs;
  for (std::size_t i = 0; i < played.records.size(); ++i) {
    const Record& r = played.records[i];
    const Client& client = scenario.clients[r.job.client.index];
    if (r.mark == Mark::eligible) jobs[r.job].waits = true;
    if (r.mark == Mark::launch_ordered) {
      REQUIRE(r.gpu < scenario.device.gpus);
      REQUIRE(client.gpus.has(DeviceId{r.gpu}));
      REQUIRE(owners.emplace(r.gpu, r.launch).second);
      REQUIRE(jobs[r.job].waits);
      REQUIRE_FALSE(jobs[r.job].gpu);
      REQUIRE(r.amount == done[{r.job, r.kernel}]);  // a relaunch goes on where the last one stopped
      jobs[r.job] = {false, r.gpu};
    }
    if (r.mark == Mark::gone) done[{r.job, r.kernel}] += r.amount;
    if (r.mark == Mark::left) {
      REQUIRE(owners.at(r.gpu) == r.launch);
      REQUIRE(jobs[r.job].gpu == r.gpu);
      REQUIRE(r.amount == done[{r.job, r.kernel}]);
      owners.erase(r.gpu);
      jobs[r.job] = {r.why != Why::completed, std::nullopt};
    }
    const bool over = i + 1 == played.records.size() || played.records[i + 1].time > r.time;
    if (!over || !conserving) continue;
    for (const auto& [job, where] : jobs)
      for (std::uint8_t gpu = 0; where.waits && gpu < scenario.device.gpus; ++gpu)
        REQUIRE((owners.contains(gpu) || !scenario.clients[job.client.index].gpus.has(DeviceId{gpu})));
  }
  for (const JobResult& job : played.jobs) {
    REQUIRE(job.finish.has_value());
    const std::vector<Kernel>& kernels = scenario.clients[job.id.client.index].kernels;
    for (std::uint32_t k = 0; k < kernels.size(); ++k)
      REQUIRE(done[{job.id, k}] == kernels[k].block_tasks.count);
  }
}

// Every registered policy that owns GPUs, and its variants.
std::vector<std::string> owning_policies() {
  std::vector<std::string> policies = all_policies();
  for (const PolicyEntry& entry : Policies::all())
    if (entry.make(ParameterValues(entry.parameters, std::nullopt))->heeds_clients_gpus())
      policies.push_back(entry.name);
  return policies;
}

}  // namespace

TEST_CASE("several owners: no block-task is lost or done twice, and no GPU is free that somebody waits for",
          "[gpus][long]") {
  const std::vector<std::string> policies = owning_policies();
  REQUIRE(policies.size() > all_policies().size() + 8);
  int elsewhere = 0;
  for (const int i : case_numbers(600, 40'000))
    for (const std::string& policy : policies) {
      INFO("scenario " << i << " under " << policy);
      Scenario scenario = random_owners(static_cast<std::uint64_t>(i));
      if (policy == "pkm") scenario.mechanism = "slice";
      const Played played = play(scenario, policy);
      check_owners(scenario, played, policy.find("linger") == std::string::npos);
      std::map<std::pair<JobId, std::uint32_t>, std::set<std::uint8_t>> used;
      for (const Record& r : played.records)
        if (r.mark == Mark::launch_ordered) used[{r.job, r.kernel}].insert(r.gpu);
      elsewhere +=
          std::any_of(used.begin(), used.end(), [](const auto& u) { return u.second.size() > 1; }) ? 1 : 0;
    }
  CHECK(elsewhere > 500 / kOneIn);  // kernels that went on on another GPU, or this shows little
}

TEST_CASE("several owners: one GPU of many is as one GPU", "[gpus][long]") {
  for (const int i : case_numbers(200, 10'000))
    for (const std::string& policy : owning_policies()) {
      INFO("scenario " << i << " under " << policy);
      Scenario scenario = random_scenario(static_cast<std::uint64_t>(i));
      if (policy == "pkm") scenario.mechanism = "slice";
      const Lines alone = play(scenario, policy).lines;
      scenario.device.gpus = 3;
      for (Client& client : scenario.clients) client.gpus = {DeviceId{2}};
      REQUIRE(play(scenario, policy).lines == alone);
    }
}

TEST_CASE("several owners: piv never leaves an owner that is less urgent than one that could replace it",
          "[gpus][long]") {
  for (const int i : case_numbers(500, 40'000)) {
    INFO("scenario " << i);
    const Scenario scenario = random_owners(static_cast<std::uint64_t>(i));
    const auto priority = [&](JobId job) { return scenario.clients[job.client.index].priority; };
    std::map<JobId, bool> waits;
    std::map<std::uint8_t, std::pair<JobId, bool>> owners;  // and whether it is being evicted
    const Played played = play(scenario, "piv");
    for (std::size_t k = 0; k < played.records.size(); ++k) {
      const Record& r = played.records[k];
      if (r.mark == Mark::eligible) waits[r.job] = true;
      if (r.mark == Mark::launch_ordered) waits[r.job] = false, owners[r.gpu] = {r.job, false};
      if (r.mark == Mark::evict_ordered) owners[r.gpu].second = true;
      if (r.mark == Mark::gone) owners[r.gpu].second = true;  // nobody can displace it any more
      if (r.mark == Mark::left) owners.erase(r.gpu), waits[r.job] = r.why != Why::completed;
      if (k + 1 < played.records.size() && played.records[k + 1].time == r.time) continue;
      // The most urgent that wait have the GPUs that are being vacated; one beyond these would have another
      // one.
      std::size_t vacated = 0;
      for (const auto& [gpu, owner] : owners) vacated += owner.second ? 1 : 0;
      for (const auto& [gpu, owner] : owners) {
        if (owner.second) continue;
        std::size_t before = 0;
        for (const auto& [job, waiting] : waits)
          if (waiting && scenario.clients[job.client.index].gpus.has(DeviceId{gpu}) &&
              priority(job) > priority(owner.first))
            ++before;
        REQUIRE(before <= vacated);
      }
    }
  }
}

TEST_CASE("several owners: a launch where its client may not run is refused", "[gpus]") {
  class Astray : public Policy {
   public:
    Capabilities needs() const override { return {}; }
    bool several_gpus() const override { return true; }
    void note(Time, const Fact& fact, const View&) override {
      if (const auto* arrived = std::get_if<Arrived>(&fact)) job_ = arrived->job;
    }
    void decide(Time, const View& view, Orders& orders) override {
      if (job_) orders.launch(*job_, DeviceId{1}, BlockRange{{0}, view.job(*job_).current().block_tasks});
    }

   private:
    std::optional<JobId> job_;
  } astray;
  CHECK_THROWS_WITH(play(on(2, {only_on(client("A", 0, 100), {DeviceId{0}})}), astray),
                    Catch::Matchers::Contains("a launch on device 1, which client 0 may not use"));
}

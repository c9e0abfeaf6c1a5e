// Grants of whole jobs: schedules worked out by hand from sim/README.md, "Grants of whole jobs". Times in ns,
// on the device of test_schedules.cpp: a launch takes 10, a flag is seen after 2, a drain lasts 6 of which 3
// are useful, and the report follows the last block by 5.
#include <fmt/format.h>

#include <map>
#include <set>

#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "tests/sim/random_scenario.hpp"

namespace gangway::testing {
namespace {

using Catch::Matchers::Contains;

// Writes down what the policy within is told of jobs and clients.
class Listener : public Policy {
 public:
  explicit Listener(const std::string& policy)
      : chosen_(policy_from(policy)), policy_(chosen_.entry->make(chosen_.values)) {}
  Capabilities needs() const override { return policy_->needs(); }
  void note(Time now, const Fact& fact, const View& view) override {
    if (view.grants() == GrantOf::job)
      if (const auto* arrived = std::get_if<Arrived>(&fact))
        CHECK(view.job(arrived->job).kernels.size() == 0);
    if (const std::string line = text(fact); !line.empty())
      told.push_back(fmt::format("{} {}", now.ns, line));
    facts.push_back({now, fact});
    policy_->note(now, fact, view);
  }
  void decide(Time now, const View& view, Orders& orders) override { policy_->decide(now, view, orders); }

  Lines told;
  std::vector<std::pair<Time, Fact>> facts;

 private:
  static std::string name(ClientId client) { return std::string(1, static_cast<char>('A' + client.index)); }
  static std::string text(const Fact& fact) {
    if (const auto* opens = std::get_if<Opens>(&fact)) return name(opens->client) + " opens";
    if (const auto* exited = std::get_if<Exited>(&fact)) return name(exited->client) + " exited";
    if (const auto* arrived = std::get_if<Arrived>(&fact)) return name(arrived->job.client) + " arrived";
    if (const auto* left = std::get_if<Left>(&fact))
      return fmt::format("{} {} after {}{}", name(left->job.client), name_of(left->why), left->served.ns,
                         left->job_over ? ", over" : "");
    return "";
  }

  ChosenPolicy chosen_;
  std::unique_ptr<Policy> policy_;
};

// Two kernels of 20, the second behind a gap. Alone its first is known to be complete at 35.
Client two_kernels(std::int64_t gap, std::int32_t priority = 0) {
  Client client = testing::client("A", 0, 20);
  client.priority = priority;
  client.kernels.push_back(client.kernels[0]);
  client.kernels[1].gap = Duration{gap};
  return client;
}

Client urgent_client(std::int64_t arrive, std::int64_t time) {
  Client client = testing::client("B", arrive, time);
  client.priority = 1;
  return client;
}

Scenario whole_jobs(std::vector<Client> clients, std::int64_t idle = 50) {
  Scenario scenario{std::move(clients)};
  scenario.granting = {GrantOf::job, Duration{idle}};
  return scenario;
}

const Lines kFirstOfTwo{"0 A launch", "10 A start", "30 A gone 20", "35 A completed"};

Lines behind_first(Lines rest) {
  rest.insert(rest.begin(), kFirstOfTwo.begin(), kFirstOfTwo.end());
  return rest;
}

TEST_CASE("a job that is granted runs its kernels without asking again") {
  // Shortest job first would choose B at 35, if it were asked.
  const Scenario scenario = whole_jobs({two_kernels(0), client("B", 12, 30)});
  Listener policy("fcfs");
  CHECK(play(scenario, policy).lines ==
        behind_first({"35 A launch", "45 A start", "65 A gone 20", "70 A completed", "70 A finished",
                      "70 B launch", "80 B start", "110 B gone 30", "115 B completed", "115 B finished"}));
  // That A is gone is told with the next fact about anybody.
  CHECK(policy.told == Lines{"0 A opens", "0 A arrived", "12 B opens", "12 B arrived",
                             "70 A completed after 40, over", "80 A exited",
                             "115 B completed after 30, over"});
}

TEST_CASE("a job that is displaced goes on where it was") {
  Listener policy("piv");
  CHECK(play(whole_jobs({two_kernels(0), urgent_client(15, 10)}), policy).lines ==
        Lines{"0 A launch", "10 A start", "15 A evict", "23 A gone 10", "28 A evicted", "28 B launch",
              "38 B start", "48 B gone 10", "53 B completed", "53 B finished", "53 A launch", "63 A start",
              "73 A gone 10", "78 A completed", "78 A launch", "88 A start", "108 A gone 20",
              "113 A completed", "113 A finished"});
  CHECK(policy.told == Lines{"0 A opens", "0 A arrived", "15 B opens", "15 B arrived",
                             "28 A evicted after 13", "53 B completed after 10, over", "63 B exited",
                             "113 A completed after 43, over"});
}

TEST_CASE("a grant ends when nothing of its job was on the GPU for `idle`") {
  Listener policy("fcfs");
  CHECK(play(whole_jobs({two_kernels(100), client("B", 5, 30)}), policy).lines ==
        behind_first({"85 B launch", "95 B start", "125 B gone 30", "130 B completed", "130 B finished",
                      "135 A launch", "145 A start", "165 A gone 20", "170 A completed", "170 A finished"}));
  CHECK(policy.told == Lines{"0 A opens", "0 A arrived", "5 B opens", "5 B arrived",
                             "85 A idle after 20, over", "130 B completed after 30, over", "135 A arrived",
                             "135 B exited", "170 A completed after 40, over"});
}

TEST_CASE("a kernel that is eligible in the instant in which its grant would end goes on") {
  const auto lines = [](std::int64_t idle) {
    return play(whole_jobs({two_kernels(50), client("B", 5, 30)}, idle), "fcfs").lines;
  };
  CHECK(lines(50)[4] == "85 A launch");
  CHECK(lines(49)[4] == "84 B launch");
  CHECK(lines(0)[4] == "35 B launch");
}

TEST_CASE("a job that is between two kernels gives the GPU up at once") {
  Listener policy("piv");
  CHECK(play(whole_jobs({two_kernels(40), urgent_client(40, 10)}), policy).lines ==
        behind_first({"40 B launch", "50 B start", "60 B gone 10", "65 B completed", "65 B finished",
                      "75 A launch", "85 A start", "105 A gone 20", "110 A completed", "110 A finished"}));
  CHECK(policy.told == Lines{"0 A opens", "0 A arrived", "40 B opens", "40 B arrived",
                             "40 A evicted after 20, over", "65 B completed after 10, over", "75 A arrived",
                             "75 B exited", "110 A completed after 40, over"});
}

TEST_CASE("jobs whose length nobody knows are tried first, and then known") {
  // Each comes three times; the first job of each counts as no work.
  Client slow = client("A", 0, 300), fast = client("B", 0, 20);
  for (Client* each : {&slow, &fast}) {
    each->kernels[0].time_unknown = true;
    each->repeat = {2, std::nullopt, Duration{0}, {}};
  }
  const Lines lines = play(whole_jobs({slow, fast}), "sjf").lines;
  // A is first as listed. B's first job counts as none and goes before A's second, which by then is known to
  // take 300; so does B's second, which is known to take 20.
  const auto launches = [&] {
    std::string order;
    for (const std::string& line : lines)
      if (line.ends_with("launch")) order += line[line.size() - 8];
    return order;
  }();
  CHECK(launches == "ABBA");
}

TEST_CASE("what can never be right of a grant stops the run") {
  struct Orderer : Policy {
    explicit Orderer(std::function<void(const View&, Orders&)> o) : order(std::move(o)) {}
    Capabilities needs() const override { return {Capability::evict}; }
    void note(Time, const Fact&, const View&) override {}
    void decide(Time now, const View& view, Orders& orders) override {
      if (now == Time{5}) order(view, orders);
    }
    std::function<void(const View&, Orders&)> order;
  };
  const JobId a{ClientId{0}, 0}, b{ClientId{1}, 0};
  const auto message = [&](std::function<void(const View&, Orders&)> order) -> std::string {
    Orderer policy(std::move(order));
    try {
      play(whole_jobs({client("A", 0, 20), client("B", 5, 20)}), policy);
    } catch (const RunError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::optional<BlockRange> all;
  CHECK_THAT(message([&](const View&, Orders& o) {
               o.launch(a, DeviceId{0}, BlockRange{{0}, {20}});
             }),
             Contains("a launch of block-tasks under grants of whole jobs"));
  CHECK_THAT(message([&](const View&, Orders& o) { o.launch(a, DeviceId{1}, all); }),
             Contains("device 1, of 1"));
  CHECK_THAT(message([&](const View&, Orders& o) {
               o.launch(a, DeviceId{0}, all);
               o.launch(b, DeviceId{0}, all);
             }),
             Contains("while another job owns the GPU"));
  CHECK_THAT(message([&](const View&, Orders& o) {
               o.launch({ClientId{1}, 1}, DeviceId{0}, all);
             }),
             Contains("not eligible"));
  CHECK_THAT(message([&](const View&, Orders& o) {
               o.launch({ClientId{0, 1}, 0}, DeviceId{0}, all);
             }),
             Contains("not eligible"));
  CHECK_THAT(message([&](const View& v, Orders&) {
               static_cast<void>(v.job({ClientId{1, 3}, 0}));
             }),
             Contains("client 1 of generation 3, now of generation 0"));
}

TEST_CASE("clients leave, and what they are owed reaches policies") {
  Client a = client("A", 0, 20);
  a.repeat = {std::nullopt, Duration{100}, std::nullopt, {}};
  a.leave = Duration{200};  // jobs at 0 and 100, none at 200
  a.slo = Duration{70};
  a.weight = 2.5;
  a.attributes = {{"tier", 3}};
  struct Reader : Policy {
    Capabilities needs() const override { return {Capability::evict}; }
    void note(Time, const Fact& fact, const View& view) override {
      const auto* arrived = std::get_if<Arrived>(&fact);
      if (arrived == nullptr) return;
      const JobFacts& job = view.job(arrived->job);
      seen.push_back(fmt::format("{} by {}, {}, {}, {}", job.arrived.ns, job.deadline->ns, job.weight,
                                 job.attribute("tier").value_or(0), job.attribute("rank").value_or(-1)));
      waiting = arrived->job;
    }
    void decide(Time, const View&, Orders& orders) override {
      if (waiting) orders.launch(*waiting, DeviceId{0}, std::nullopt);
      waiting.reset();
    }
    std::optional<JobId> waiting;
    Lines seen;
  };
  for (const GrantOf of : {GrantOf::kernel, GrantOf::job}) {
    Scenario scenario{{a}};
    scenario.granting.of = of;
    Reader reader;
    CHECK(play(scenario, reader).jobs.size() == 2);
    CHECK(reader.seen == Lines{"0 by 70, 2.5, 3, -1", "100 by 170, 2.5, 3, -1"});
  }
}

// All policies that can be given whole jobs.
std::vector<std::string> owners() {
  std::vector<std::string> names;
  for (const std::string& name : all_policies()) {
    const ChosenPolicy chosen = policy_from(name);
    const Capabilities needs = chosen.entry->make(chosen.values)->needs();
    if (needs.missing_from({Capability::evict}).none()) names.push_back(name);
  }
  return names;
}

TEST_CASE("grants of whole jobs: laws of every policy", "[long]") {
  const std::vector<std::string> policies = owners();
  REQUIRE(policies.size() >= 8);
  for (const auto number : case_numbers(60, 10'000)) {
    Scenario scenario = random_scenario(number);
    Stream random(number, "grants", {});
    scenario.granting = {GrantOf::job, Duration{static_cast<std::int64_t>(random.below(4'000))}};
    for (Client& client : scenario.clients) {
      for (Kernel& kernel : client.kernels) {
        if (random.below(3) == 0) kernel.gap = Duration{static_cast<std::int64_t>(random.below(6'000))};
        kernel.time_unknown = random.below(4) == 0;
      }
      if (random.below(3) == 0) client.leave = Duration{static_cast<std::int64_t>(1 + random.below(40'000))};
    }
    for (const std::string& name : policies) {
      INFO("case " << number << ", " << name);
      Listener policy(name);
      const Played played = play(scenario, policy);
      for (const JobResult& job : played.jobs) CHECK(job.finish.has_value());
      // What each job was served, by the device's own account.
      std::map<JobId, std::int64_t> ran, served;
      std::map<LaunchId, Time> began;
      for (const Record& r : played.records) {
        if (r.mark == Mark::started) began[r.launch] = r.time;
        if (r.mark == Mark::gone && began.count(r.launch) != 0) ran[r.job] += (r.time - began[r.launch]).ns;
      }
      // Of each client: it opens, its jobs arrive and leave, it is gone.
      std::set<ClientId> there, gone;
      std::map<ClientId, bool> arrived;
      for (const auto& [time, fact] : policy.facts) {
        if (const auto* opens = std::get_if<Opens>(&fact)) {
          CHECK(there.insert(opens->client).second);
        } else if (const auto* exited = std::get_if<Exited>(&fact)) {
          CHECK((there.count(exited->client) == 1 && gone.insert(exited->client).second));
        } else if (const auto* come = std::get_if<Arrived>(&fact)) {
          CHECK((there.count(come->job.client) == 1 && gone.count(come->job.client) == 0));
          CHECK_FALSE(std::exchange(arrived[come->job.client], true));
        } else if (const auto* left = std::get_if<Left>(&fact)) {
          CHECK(arrived[left->job.client]);
          if (left->job_over) arrived[left->job.client] = false;
          served[left->job] = left->served.ns;
        }
      }
      CHECK(served == ran);
    }
  }
}

}  // namespace
}  // namespace gangway::testing

// Hand-worked schedules of the policies that heed what services ask for: deadlines and weights.
#include "models/metrics/service_meter.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

Client with_slo(Client client, std::int64_t slo) {
  client.slo = Duration{slo};
  return client;
}

Client with_weight(Client client, double weight) {
  client.weight = weight;
  return client;
}

// What each client used of what its weight entitles it to.
std::vector<double> shares_against_weight(const Scenario& scenario, const std::string& policy) {
  ServiceMeter services(scenario.clients, scenario.device.gpus);
  RunMeter meter(scenario.clients.size(), services, scenario.device.gpus);
  meter.tell(&services);
  for (const Record& record : play(scenario, policy).records) meter.record(record);
  services.run_over(meter.totals());
  std::vector<double> shares;
  for (const ServiceMetrics& m : services.metrics()) shares.push_back(m.share_against_weight);
  return shares;
}

// So many clients that always have work, in units of 100 ns, with weights 1, 2, 3 and so on.
Scenario always_busy(int count) {
  std::vector<Client> clients;
  for (int c = 0; c < count; ++c) {
    clients.push_back(with_weight(client(std::string(1, static_cast<char>('A' + c)), 0, 7000), c + 1));
    clients.back().repeat = {std::nullopt, std::nullopt, Duration{0}};
  }
  Scenario scenario = hundreds(clients);
  scenario.horizon = Time{200'000'000};
  return scenario;
}

constexpr const char* kStride = "{name: stride, params: {quantum: 3 us}}";

}  // namespace

TEST_CASE("edf: an earlier deadline evicts") {
  // Deadlines: A 300, B 50 + 200.
  CHECK(play({{with_slo(client("A", 0, 100), 300), with_slo(client("B", 50, 20), 200)}}, "edf").lines ==
        Lines{"0 A launch", "10 A start", "50 A evict", "58 A gone 45", "63 A evicted", "63 B launch",
              "73 B start", "93 B gone 20", "98 B completed", "98 B finished", "98 A launch", "108 A start",
              "163 A gone 55", "168 A completed", "168 A finished"});
}

TEST_CASE("edf: a deadline that is not earlier evicts nobody, and the first to arrive is the first") {
  // All at 300.
  const Played played = play({{with_slo(client("A", 0, 100), 300), with_slo(client("C", 60, 20), 240),
                               with_slo(client("B", 50, 20), 250)}},
                             "edf");
  CHECK(played.totals.evictions == 0);
  CHECK(played.lines.at(5) == "115 B launch");
  CHECK(played.lines.at(10) == "150 C launch");
}

TEST_CASE("edf: who has no objective comes after all others, first come, first served") {
  const Played played = play({{client("A", 0, 100), client("B", 20, 20), client("C", 10, 20),
                               with_slo(client("D", 50, 20), 1'000'000)}},
                             "edf");
  CHECK(Lines(played.lines.begin() + 2, played.lines.begin() + 6) ==
        Lines{"50 A evict", "58 A gone 45", "63 A evicted", "63 D launch"});
  CHECK(played.lines.at(10) == "98 A launch");
  CHECK(played.lines.at(15) == "168 C launch");
  CHECK(played.lines.at(20) == "203 B launch");
}

TEST_CASE("edf: a job's deadline counts from its release, also where it waited for its client") {
  // A's second job is due at 20 + 100, before B's at 10 + 130, although it begins at 35 only.
  Client a = with_slo(client("A", 0, 20), 100);
  a.repeat.jobs = 2;
  a.repeat.releases = {Duration{0}, Duration{20}};
  const Played played = play({{a, with_slo(client("B", 10, 20), 130)}}, "edf");
  CHECK(played.lines.at(5) == "35 A launch");
}

TEST_CASE("edf: each job has a deadline of its own, whatever is granted") {
  // A's first job is due at 100, before B's at 10 + 105; its second, which waits from 35 on, at 20 + 100.
  Client a = with_slo(client("A", 0, 20), 100);
  a.repeat.jobs = 2;
  a.repeat.releases = {Duration{0}, Duration{20}};
  Scenario scenario{{a, with_slo(client("B", 10, 20), 105)}};
  SECTION("kernels") {}
  SECTION("jobs") { scenario.granting = {GrantOf::job, Duration{50}}; }
  const Played played = play(scenario, "edf");
  CHECK(played.lines.at(5) == "35 B launch");
  CHECK(played.lines.at(10) == "70 A launch");
}

TEST_CASE("edf: several GPUs have the jobs of the earliest deadlines") {
  Scenario scenario{{with_slo(client("A", 0, 100), 900), with_slo(client("B", 0, 100), 800),
                     with_slo(client("C", 50, 20), 500)}};
  scenario.device.gpus = 2;
  const Played played = play(scenario, "edf");
  CHECK(played.lines.at(4) == "50 A evict");  // the later of the two
  CHECK(played.totals.evictions == 1);
}

TEST_CASE("stride: passes grow with use over weight, and the least is next") {
  // Quanta of 30. A, of weight 2: from 10, at 40 its pass is 15 and B's 0; out at 53, 21.5. B: from 63, at 93
  // 30; out at 106, 43. A: from 116, at 146 36.5, so it keeps the GPU; at 176 51.5; out at 189, 58. B: from
  // 199, at 229 73. A: its last 10. B: its last 30.
  const Played played = play(hundreds({with_weight(client("A", 0, 110), 2), client("B", 0, 100)}), kStride);
  CHECK(in_hundreds(played) ==
        Lines{"0 A launch",   "10 A start",  "40 A evict",    "48 A gone 35",    "53 A evicted",
              "53 B launch",  "63 B start",  "93 B evict",    "101 B gone 35",   "106 B evicted",
              "106 A launch", "116 A start", "176 A evict",   "184 A gone 65",   "189 A evicted",
              "189 B launch", "199 B start", "229 B evict",   "237 B gone 35",   "242 B evicted",
              "242 A launch", "252 A start", "262 A gone 10", "267 A completed", "267 A finished",
              "267 B launch", "277 B start", "307 B gone 30", "312 B completed", "312 B finished"});
}

TEST_CASE("stride: who comes late has not saved up") {
  // A is charged at 40, 70 and so on to 190, when its pass is 180: B begins there, at 200. At 220 A has 210;
  // out at 233, 223. B: from 243, at 273 210, so it goes on; at 303 240. With a pass of 0 it would have gone
  // on.
  const Lines lines = in_hundreds(play(hundreds({client("A", 0, 400), client("B", 200, 300)}), kStride));
  CHECK(Lines(lines.begin() + 2, lines.begin() + 8) == Lines{"220 A evict", "228 A gone 215", "233 A evicted",
                                                             "233 B launch", "243 B start", "303 B evict"});
}

TEST_CASE("stride: who comes back has not saved up either") {
  // B, which was there before, is back at 5000 while A goes on: its pass is A's then. As equals they take
  // turns, and B is evicted after one quantum or two, not after as long as A had the GPU.
  Client b = client("B", 0, 200);
  b.repeat.jobs = 2;
  b.repeat.releases = {Duration{0}, Duration{5000}};
  Client a = client("A", 0, 9000);
  std::int64_t back = 0, evicted = 0;
  for (const std::string& line : in_hundreds(play(hundreds({a, b}), kStride))) {
    const std::int64_t time = std::stoll(line);
    if (time > 5000 && back == 0 && line.ends_with("B start")) back = time;
    if (back > 0 && evicted == 0 && line.ends_with("B evict")) evicted = time;
  }
  CHECK(back < 5000 + 30 + 13 + 10);
  CHECK(evicted - back <= 60);
}

TEST_CASE("stride: clients that always have work share GPUs in proportion to their weights") {
  for (const char* grant : {"kernel", "job"})
    for (const int count : {2, 3, 5}) {
      INFO(count << " clients, grant: " << grant);
      Scenario scenario = always_busy(count);
      if (std::string(grant) == "job") scenario.granting.of = GrantOf::job;
      // Long quanta, as reports count as use and are none.
      for (const double share : shares_against_weight(scenario, "{name: stride, params: {quantum: 30 us}}"))
        CHECK(share == Approx(1).epsilon(0.02));
      // Round robin gives each the same: the least weight too much.
      CHECK(shares_against_weight(scenario, "{name: rr, params: {quantum: 30 us}}")[0] > 1.3);
    }
}

TEST_CASE("stride: nobody has more of a GPU than the whole of it, and the others share what is left") {
  // Of two GPUs, C's weight of 8 in 10 is worth 1.6. It has one, and A and B, who are equal, share the other.
  Scenario scenario = always_busy(3);
  scenario.device.gpus = 2;
  for (const auto& [c, weight] : {std::pair(0, 1.0), std::pair(1, 1.0), std::pair(2, 8.0)})
    scenario.clients[static_cast<std::size_t>(c)].weight = weight;
  const auto shares = shares_against_weight(scenario, kStride);
  CHECK(shares[0] == Approx(shares[1]).epsilon(0.05));
  CHECK(shares[0] > 2);
}

TEST_CASE("stride: short jobs on several GPUs keep what they have in advance of others that run elsewhere") {
  // D's job ends often, while others have GPUs for longer: each time it waits anew, though it was never idle.
  Scenario scenario = always_busy(4);
  scenario.device.gpus = 3;
  for (Client& client : scenario.clients) client.weight = 1;
  scenario.clients[3].kernels = hundreds({client("D", 0, 300)}).clients[0].kernels;
  for (const double share : shares_against_weight(scenario, "{name: stride, params: {quantum: 100 us}}"))
    CHECK(share == Approx(1).epsilon(0.02));
}

TEST_CASE("stride: a client that keeps its GPU between two kernels pays for it") {
  // Of each ms that A holds the GPU, it computes for 0.1 ms: B, which always has work, gets as much time.
  Client a = client("A", 0, 100'000), b = client("B", 0, 5'000'000);
  a.kernels.resize(2000, a.kernels[0]);
  for (Kernel& kernel : a.kernels) kernel.gap = Duration{900'000};
  b.repeat = {std::nullopt, std::nullopt, Duration{0}};
  Scenario scenario{{a, b}};
  scenario.horizon = Time{500'000'000};
  const auto shares =
      shares_against_weight(scenario, "{name: stride, params: {quantum: 1 ms, linger: 1 ms}}");
  CHECK(shares[1] > 1.6);  // of what is used: 0.5 to 0.05
}

TEST_CASE("stride: large weights keep their ratio after a small one has had the GPU for long") {
  Scenario scenario = always_busy(3);
  const double weights[] = {1e-6, 1e6, 1e5};
  for (std::size_t c = 0; c < 3; ++c) {
    scenario.clients[c].weight = weights[c];
    if (c > 0) scenario.clients[c].arrive = Duration{100'000'000};
  }
  ServiceMeter services(scenario.clients, 1);
  RunMeter meter(3, services, 1);
  meter.tell(&services);
  for (const Record& record : play(scenario, kStride).records) meter.record(record);
  services.run_over(meter.totals());
  const auto all = services.metrics();
  CHECK(all[1].gpu_time_ns / all[2].gpu_time_ns == Approx(10).epsilon(0.2));  // reports count as use
}

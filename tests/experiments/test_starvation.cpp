// Cells with unfinished jobs and with clients that finish none.
#include <algorithm>
#include <set>

#include "experiments/results/bounded_value.hpp"
#include "experiments/running/group.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/sim/random_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

const std::vector<std::string> kOfAllClients{"antt",
                                             "antt_ci95",
                                             "dntt",
                                             "dntt_ci95",
                                             "stp",
                                             "stp_ci95",
                                             "jain",
                                             "waiting_ns_mean",
                                             "concurrency_efficiency"};
const std::vector<std::string> kOfOneClient{"ntt",
                                            "ntt_ci95",
                                            "response_ns_mean",
                                            "response_ns_mean_ci95",
                                            "response_ns_p99",
                                            "response_ns_p99_ci95",
                                            "waiting_ns_mean",
                                            "evictions",
                                            "eviction_delay_ns_mean",
                                            "percentiles"};

struct Finished {
  std::uint32_t client;
  std::int64_t response;  // 0: it did not finish, either
};

// Of runs of clients A and B, each alone for 10 ns, the responses of those that finished; every run has one
// job more of B that did not, at an age of 50.
UnitResult replication(const std::vector<std::vector<Finished>>& runs) {
  ReplicationMeter meter({{Duration{10}}, {Duration{10}}}, false);
  for (const auto& run : runs) {
    for (const Finished& f : run) {
      JobResult job;
      job.id.client = ClientId{f.client};
      job.standalone = Duration{10};
      job.over = Time{f.response > 0 ? f.response : 50};
      if (f.response > 0) job.finish = job.over;
      meter.job(job);
    }
    JobResult open;
    open.id.client = ClientId{1};
    open.standalone = Duration{10};
    open.over = Time{50};
    meter.job(open);
    RunTotals totals;
    totals.first_release = Time{};
    totals.end = Time{50};
    totals.unfinished = 1;
    meter.run_over(totals);
  }
  UnitResult result;
  result.metrics = meter.metrics();
  result.responses = meter.responses();
  return result;
}

GroupRows group(const std::vector<UnitResult>& replications) {
  Group group({"A", "B"});
  for (const UnitResult& each : replications) group.add(each);
  return group.rows();
}

}  // namespace

TEST_CASE("a client that finishes nothing leaves its cell without averages, and is named", "[starved]") {
  const UnitResult fine = replication({{{0, 20}, {1, 30}}}), starving = replication({{{0, 10}}});
  SECTION("nobody starves") {
    const GroupRows rows = group({fine, fine});
    CHECK(cell(rows.summary, "antt").number() == 3);  // of 2, and of B's job of 30 and one of at least 50
    CHECK(cell(rows.summary, "starved").empty());
    CHECK(cell(rows.clients[1].second, "starved_runs").number() == 0);
  }
  SECTION("one replication of two is enough") {
    const GroupRows rows = group({fine, starving});
    for (const std::string& column : kOfAllClients) CHECK(cell(rows.summary, column).empty());
    CHECK(cell(rows.summary, "starved").text() == "B");
    CHECK(cell(rows.summary, "unfinished").number() == 2);
    CHECK(cell(rows.summary, "utilisation").number() == 0);
    const Row& a = rows.clients[0].second;
    const Row& b = rows.clients[1].second;
    CHECK(cell(a, "ntt").number() == 1.5);
    for (const std::string& column : kOfOneClient) CHECK(cell(b, column).empty());
    CHECK(cell(b, "jobs").number() == 1);
    CHECK(cell(b, "unfinished").number() == 2);
    CHECK(cell(b, "starved_runs").number() == 1);
  }
  SECTION("so is one permutation of a replication") {
    const GroupRows rows = group({replication({{{0, 20}, {1, 30}}, {{0, 10}}})});
    CHECK(cell(rows.summary, "antt").empty());
    CHECK(cell(rows.summary, "starved").text() == "B");
  }
  SECTION("several are told apart") {
    CHECK(cell(group({fine, replication({{{0, 0}}})}).summary, "starved").text() == "A|B");
  }
}

TEST_CASE("a client whose unfinished jobs raise its mean makes averages bounds, and is named", "[starved]") {
  // B finishes one job in 30 and has another that is 50 old: (30 + 50) / 2 = 40 is above 30. A needs 20.
  const UnitResult more = replication({{{0, 20}, {1, 30}}});
  // Here it finishes one in 60: (60 + 50) / 2 is not.
  const UnitResult fine = replication({{{0, 20}, {1, 60}}});
  SECTION("in every replication") {
    const GroupRows rows = group({more, more});
    CHECK(cell(rows.summary, "antt").number() == 3);  // NTTs 2 and 4; 4 of which is the mean of 3 and 5
    CHECK(cell(rows.summary, "stp").number() == 0.75);
    CHECK(cell(rows.summary, "dntt").number() == 1);
    CHECK(cell(rows.summary, "understated").text() == "B");
    CHECK(cell(rows.clients[0].second, "lower_bounds").empty());
    CHECK(cell(rows.clients[1].second, "lower_bounds").text() == "ntt|response_ns_mean|waiting_ns_mean");
    CHECK(cell(rows.clients[1].second, "ntt").number() == 4);
    CHECK(cell(rows.clients[1].second, "response_ns_mean").number() == 40);
  }
  SECTION("in one of them: then there is no interval") {
    const GroupRows rows = group({more, fine});
    CHECK(cell(rows.summary, "understated").text() == "B");
    CHECK(cell(rows.clients[1].second, "ntt").number() == 5);
    for (const char* column : {"antt_ci95", "dntt_ci95", "stp_ci95"})
      CHECK(cell(rows.summary, column).empty());
    for (const char* column : {"ntt_ci95", "response_ns_mean_ci95"})
      CHECK(cell(rows.clients[1].second, column).empty());
    CHECK_FALSE(cell(rows.clients[0].second, "ntt_ci95").empty());
  }
  SECTION("in none") {
    const GroupRows rows = group({fine, fine});
    CHECK(cell(rows.summary, "antt").number() == 4);
    CHECK(cell(rows.summary, "understated").empty());
    CHECK(cell(rows.clients[1].second, "lower_bounds").empty());
    CHECK_FALSE(cell(rows.summary, "antt_ci95").empty());
  }
  SECTION("where a client starves, there are no averages to be bounds") {
    const GroupRows rows = group({more, replication({{{0, 10}}})});
    CHECK(cell(rows.summary, "starved").text() == "B");
    CHECK(cell(rows.summary, "understated").empty());
    CHECK(cell(rows.clients[1].second, "lower_bounds").empty());
  }
}

TEST_CASE("a replication in which nothing is released to a client leaves the others' values alone",
          "[starved]") {
  ReplicationMeter nothing({{Duration{10}}, {Duration{10}}}, false);
  nothing.run_over({});
  UnitResult empty;
  empty.metrics = nothing.metrics();
  empty.responses = nothing.responses();
  const UnitResult fine = replication({{{0, 20}, {1, 60}}});
  const GroupRows rows = group({fine, fine, empty});
  CHECK(cell(rows.summary, "starved").empty());
  CHECK(cell(rows.summary, "antt").number() == 4);
  CHECK(cell(rows.summary, "makespan_ns").number() == 50);
  CHECK_FALSE(cell(rows.summary, "antt_ci95").empty());
  CHECK(cell(rows.clients[0].second, "ntt").number() == 2);
  CHECK(cell(rows.clients[0].second, "starved_runs").number() == 0);
  const GroupRows none = group({empty});
  for (const char* column : {"antt", "dntt", "stp", "jain", "makespan_ns", "utilisation", "starved"})
    CHECK(cell(none.summary, column).empty());
}

TEST_CASE("a row says between which ends its values are", "[starved]") {
  const auto of = [](const Row& row, Level level, const std::string& column) {
    return *bounded_value(row, level, column);
  };
  Row row{{"antt", 3.0},
          {"stp", 2.0},
          {"dntt", 1.0},
          {"utilisation", 0.5},
          {"p99_response_ns", 50.0},
          {"p99_response_ns_most", Cell()},
          {"percentiles", std::string("exact")},
          {"understated", std::string("B")}};
  CHECK(of(row, Level::point, "antt").certainty() == Certainty::at_least);
  CHECK(of(row, Level::point, "antt").least == 3);
  CHECK(of(row, Level::point, "stp").certainty() == Certainty::at_most);
  CHECK(of(row, Level::point, "dntt").certainty() == Certainty::rough);
  CHECK(of(row, Level::point, "utilisation").certainty() == Certainty::exact);
  CHECK(of(row, Level::point, "p99_response_ns").certainty() == Certainty::exact);
  row[6].second = std::string("lower-bound");
  CHECK(of(row, Level::point, "p99_response_ns").certainty() == Certainty::at_least);
  row[5].second = 60.0;
  CHECK(of(row, Level::point, "p99_response_ns").most == 60);
  row[7].second = Cell();
  CHECK(of(row, Level::point, "antt").certainty() == Certainty::exact);
  const Row client{{"ntt", 4.0}, {"response_ns_mean", 40.0}, {"lower_bounds", std::string("ntt")}};
  CHECK(of(client, Level::client, "ntt").certainty() == Certainty::at_least);
  CHECK(of(client, Level::client, "response_ns_mean").certainty() == Certainty::exact);
  const Row service{{"latency_ns_p99", 4.0}, {"latency_ns_p999", 5.0}, {"lower_bounds", std::string("p999")}};
  CHECK(of(service, Level::service, "latency_ns_p99").certainty() == Certainty::exact);
  CHECK(of(service, Level::service, "latency_ns_p999").certainty() == Certainty::at_least);
  const Row killed{{"latency_ns_p99", 4.0},
                   {"lower_bounds", std::string("p99|queue_mean")},
                   {"upper_bounds", std::string("attainment|throughput_per_s")},
                   {"attainment", 0.9},
                   {"throughput_per_s", 3.0},
                   {"queue_mean", 0.5},
                   {"gpu_share", 0.5}};
  for (const char* column : {"attainment", "throughput_per_s"})
    CHECK(of(killed, Level::service, column).certainty() == Certainty::at_most);
  for (const char* column : {"latency_ns_p99", "queue_mean"})
    CHECK(of(killed, Level::service, column).certainty() == Certainty::at_least);
  CHECK(of(killed, Level::service, "gpu_share").certainty() == Certainty::exact);
}

TEST_CASE("percentiles say where unfinished jobs make them lower bounds", "[starved]") {
  const GroupRows rows = group({replication({{{0, 20}, {1, 30}}})});
  CHECK(cell(rows.summary, "percentiles").text() == "lower-bound");
  CHECK(cell(rows.summary, "p99_response_ns").number() == 50);  // B's age: it would have taken longer
  CHECK(cell(rows.clients[0].second, "percentiles").text() == "exact");
  CHECK(cell(rows.clients[0].second, "response_ns_p99").number() == 20);
  CHECK(cell(rows.clients[1].second, "percentiles").text() == "lower-bound");
}

TEST_CASE("p99 and mean responses have the interval of Student's t over replications", "[starved]") {
  const std::vector<double> responses{20, 24, 31};
  std::vector<UnitResult> replications;
  for (const double response : responses)
    replications.push_back(replication({{{0, static_cast<std::int64_t>(response)}, {1, 50}}}));
  const GroupRows rows = group(replications);
  const Row& a = rows.clients[0].second;
  CHECK(cell(a, "response_ns_mean_ci95").number() == half_width_95(responses));
  CHECK(cell(a, "response_ns_p99_ci95").number() == half_width_95(responses));
  // B's unfinished jobs make its 99th percentile a bound, of which there is no interval.
  CHECK(cell(rows.clients[1].second, "response_ns_p99_ci95").empty());
  CHECK(cell(rows.summary, "p99_response_ns_ci95").empty());
  // Nor is there one of a single replication.
  CHECK(cell(group({replications[0]}).clients[0].second, "response_ns_mean_ci95").empty());
}

TEST_CASE("a starved client never yields a number, whatever the workload and the policy", "[starved][long]") {
  int starved_cells = 0;
  for (const int i : case_numbers(60, 5'000))
    for (const std::string& policy : all_policies()) {
      INFO("scenario " << i << " under " << policy);
      Scenario scenario = random_scenario(static_cast<std::uint64_t>(i));
      scenario.horizon = Time{3'000 + 1'500 * static_cast<std::int64_t>(i % 40)};
      std::vector<std::string> names;
      for (const Client& client : scenario.clients) names.push_back(client.name);
      Group group(names);
      std::set<std::string> starved;
      std::int64_t unfinished = 0;
      bool any = false;  // job
      for (std::uint32_t replication = 0; replication < 2; ++replication) {
        scenario.horizon = scenario.horizon + Duration{2'000 * replication};
        const Played played = play(scenario, policy, {1, replication, 0});
        ReplicationMeter meter(std::vector<ClientPace>(names.size(), {Duration{10}}), false);
        for (const JobResult& job : played.jobs) meter.job(job);
        meter.run_over(played.totals);
        UnitResult unit;
        unit.metrics = meter.metrics();
        unit.responses = meter.responses();
        group.add(unit);
        std::set<std::string> came, served;
        for (const Record& r : played.records) {
          if (r.mark == Mark::released) came.insert(names[r.job.client.index]);
          if (r.mark == Mark::finished) served.insert(names[r.job.client.index]);
          unfinished += r.mark == Mark::released ? 1 : r.mark == Mark::finished ? -1 : 0;
        }
        for (const std::string& name : came)
          if (!served.contains(name)) starved.insert(name);
        any = any || !came.empty();
      }
      const GroupRows rows = group.rows();
      std::string named;
      for (const std::string& name : starved) named += (named.empty() ? "" : "|") + name;
      REQUIRE(cell(rows.summary, "starved").text() == named);
      REQUIRE(cell(rows.summary, "unfinished").number() == static_cast<double>(unfinished));
      for (const char* column : {"antt", "dntt", "stp", "jain", "waiting_ns_mean", "concurrency_efficiency"})
        REQUIRE(cell(rows.summary, column).empty() == (!starved.empty() || !any));
      for (const auto& [name, row] : rows.clients)
        for (const std::string& column : kOfOneClient)
          if (starved.contains(name)) REQUIRE(cell(row, column).empty());
      starved_cells += starved.empty() ? 0 : 1;
    }
  CHECK(starved_cells > 0);  // or this shows nothing
}

// What services are judged by: small cases worked out by hand, and laws that hold of every run.
#include "models/metrics/service_meter.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "tests/sim/random_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

struct Judged {
  std::vector<ServiceMetrics> clients;
  std::vector<JobResult> jobs;
  RunTotals totals;
};

class Both : public JobSink {
 public:
  Both(JobSink& first, std::vector<JobResult>& jobs) : first_(first), jobs_(jobs) {}
  void job(const JobResult& result) override {
    first_.job(result);
    jobs_.push_back(result);
  }

 private:
  JobSink& first_;
  std::vector<JobResult>& jobs_;
};

Judged judge(const Scenario& scenario, const std::vector<Record>& records) {
  Judged judged;
  ServiceMeter services(scenario.clients, scenario.device.gpus);
  Both sinks(services, judged.jobs);
  RunMeter meter(scenario.clients.size(), sinks, scenario.device.gpus);
  meter.tell(&services);
  for (const Record& record : records) meter.record(record);
  judged.totals = meter.totals();
  services.run_over(judged.totals);
  judged.clients = services.metrics();
  return judged;
}

Judged judge(const Scenario& scenario, const std::string& policy) {
  return judge(scenario, play(scenario, policy).records);
}

Client requests(const std::string& name, std::int64_t time, std::vector<Duration> times,
                std::optional<Duration> slo) {
  Client c = client(name, 0, time);
  c.slo = slo;
  c.repeat.jobs = static_cast<std::uint32_t>(times.size());
  c.repeat.arrivals.emplace();
  c.repeat.arrivals->times = std::make_shared<const std::vector<Duration>>(std::move(times));
  return c;
}

}  // namespace

TEST_CASE("one client: every job decided", "[services]") {
  // Each job needs 10 + 20 + 5. Jobs from 0 to 35, 10 to 70, 20 to 105 and 200 to 235: latencies 35, 60,
  // 85, 35.
  Scenario scenario{{requests("A", 20, {{0}, {10}, {20}, {200}}, Duration{60})}};
  const ServiceMetrics m = judge(scenario, "fcfs").clients[0];
  CHECK(m.met == 3);  // 60 is in time
  CHECK(m.missed == 1);
  CHECK(m.undecided == 0);
  CHECK(m.attainment() == 0.75);
  CHECK(m.arrivals_per_s == Approx(4e9 / 235));
  CHECK(m.throughput_per_s == Approx(4e9 / 235));
  CHECK(m.gpu_time_ns == 80);
  CHECK(m.gpu_share == Approx(80.0 / 235));
  CHECK(m.share_against_weight == Approx(1));  // nobody else wants it
  CHECK(m.queue_mean == Approx((35 + 60 + 85 + 35) / 235.0));
  CHECK(m.queue_max == 3);
}

TEST_CASE("a run that ends early: late jobs have missed, young ones are left out", "[services]") {
  // As above, until 90: latencies 35 and 60, and ages 90 - 20 = 70 and 90 - 50 = 40.
  Scenario scenario{{requests("A", 20, {{0}, {10}, {20}, {50}, {200}}, Duration{60})}};
  scenario.horizon = Time{90};
  const ServiceMetrics m = judge(scenario, "fcfs").clients[0];
  CHECK(m.met == 2);
  CHECK(m.missed == 1);
  CHECK(m.undecided == 1);
  CHECK(m.attainment() == Approx(2.0 / 3));  // not 2 of 2, which finished
  CHECK(m.throughput_per_s == Approx(2e9 / 90));
  CHECK(m.arrivals_per_s == Approx(4e9 / 90));
  CHECK(m.gpu_time_ns == 20 + 20 + 10);
  CHECK(m.queue_mean == Approx((35 + 60 + 70 + 40) / 90.0));
  SECTION("as long as the objective is not later than it: at 80 the third is 60 old") {
    scenario.horizon = Time{80};
    const ServiceMetrics at_60 = judge(scenario, "fcfs").clients[0];
    CHECK(at_60.missed == 0);
    CHECK(at_60.undecided == 2);
    scenario.horizon = Time{81};
    CHECK(judge(scenario, "fcfs").clients[0].missed == 1);
  }
}

TEST_CASE("a client that starves attains nothing", "[services]") {
  Scenario scenario{{client("A", 0, 1000), requests("B", 20, {{10}, {20}}, Duration{100})}};
  scenario.horizon = Time{500};
  const ServiceMetrics b = judge(scenario, "fcfs").clients[1];
  CHECK(b.attainment() == 0.0);
  CHECK(b.throughput_per_s == 0);
  CHECK(b.gpu_time_ns == 0);
  CHECK(b.share_against_weight == 0);
  CHECK(b.queue_mean == Approx((490 + 480) / 500.0));
}

TEST_CASE("speed in each second: who has the GPU for long stands out", "[services]") {
  // Both always have a job. A has the GPU in the first half of the first two seconds, B in the second half;
  // then A has it for a whole second.
  const Scenario scenario{{client("A", 0, 10), client("B", 0, 10)}};
  std::vector<Record> records;
  const auto add = [&](std::int64_t tenths, JobId job, Mark mark, std::uint64_t launch = 0,
                       std::int64_t standalone_tenths = 0) {
    records.push_back({.time = Time{tenths * 100'000'000},
                       .launch = LaunchId{launch},
                       .amount = standalone_tenths * 100'000'000,
                       .job = job,
                       .mark = mark});
  };
  const JobId a0{ClientId{0}, 0}, a1{ClientId{0}, 1}, b0{ClientId{1}, 0}, b1{ClientId{1}, 1};
  add(0, a0, Mark::released, 0, 8);  // it will take 1 s of the GPU: alone it is a little faster
  add(0, b0, Mark::released, 0, 10);
  add(0, a0, Mark::started, 1);
  add(5, a0, Mark::gone, 1);
  add(5, b0, Mark::started, 2);
  add(10, b0, Mark::gone, 2);
  add(10, a0, Mark::started, 3);
  add(15, a0, Mark::gone, 3);
  add(15, a0, Mark::finished);
  add(15, a1, Mark::released, 0, 10);
  add(15, b0, Mark::started, 4);
  add(20, b0, Mark::gone, 4);
  add(20, b0, Mark::finished);
  add(20, b1, Mark::released, 0, 10);
  add(20, a1, Mark::started, 5);
  SECTION("until the last job is over") {
    add(30, a1, Mark::gone, 5);
    add(30, a1, Mark::finished);
    add(30, a1, Mark::ended);
    const auto speeds = judge(scenario, records).clients;
    CHECK(speeds[0].speed_in_1s_least == Approx(.4));
    CHECK(speeds[0].speed_in_1s_most == Approx(1));
    CHECK(speeds[1].speed_in_1s_least ==
          Approx(0).margin(1e-9));  // its next job waits for all of the third second
    CHECK(speeds[1].speed_in_1s_most == Approx(.5));
  }
  SECTION("what an unfinished job did is unknown") {
    add(30, a1, Mark::ended);
    const auto speeds = judge(scenario, records).clients;
    CHECK(speeds[0].speed_in_1s_least == Approx(.4));
    CHECK(speeds[0].speed_in_1s_most == Approx(.4));
    CHECK(speeds[1].speed_in_1s_most == Approx(.5));
  }
  SECTION("a window without a job is not judged") {
    add(30, a1, Mark::gone, 5);
    add(30, a1, Mark::finished);
    add(45, a1, Mark::ended);
    const auto speeds = judge(scenario, records).clients;
    CHECK(speeds[0].speed_in_1s_least == Approx(.4));  // not 0, from 3 to 4 s
  }
  SECTION("a run below a second has none") {
    std::erase_if(records, [](const Record& record) { return record.time > Time{900'000'000}; });
    add(9, a0, Mark::ended);
    const auto speeds = judge(scenario, records).clients;
    CHECK(std::isnan(speeds[0].speed_in_1s_least));
    CHECK(std::isnan(speeds[0].speed_in_1s_most));
  }
}

TEST_CASE("speed in each second: a job that waits for another of its client begins when that is over",
          "[services]") {
  // Both are there at 0 and take 1 s of the GPU each; alone the second takes 0.2 s.
  const Scenario scenario{{client("A", 0, 10)}};
  const JobId first{ClientId{0}, 0}, second{ClientId{0}, 1};
  const auto at = [](std::int64_t seconds) { return Time{seconds * 1'000'000'000}; };
  const ServiceMetrics m =
      judge(scenario, {{.time = at(0), .amount = 1'000'000'000, .job = first, .mark = Mark::released},
                       {.time = at(0), .amount = 200'000'000, .job = second, .mark = Mark::released},
                       {.time = at(0), .launch = LaunchId{1}, .job = first, .mark = Mark::started},
                       {.time = at(1), .launch = LaunchId{1}, .job = first, .mark = Mark::gone},
                       {.time = at(1), .job = first, .mark = Mark::finished},
                       {.time = at(1), .launch = LaunchId{2}, .job = second, .mark = Mark::started},
                       {.time = at(2), .launch = LaunchId{2}, .job = second, .mark = Mark::gone},
                       {.time = at(2), .job = second, .mark = Mark::finished},
                       {.time = at(2), .mark = Mark::ended}})
          .clients[0];
  CHECK(m.speed_in_1s_most == Approx(1));
  CHECK(m.speed_in_1s_least == Approx(.2));
}

TEST_CASE("a job that is killed has missed, however young it was", "[services]") {
  Scenario scenario{{requests("A", 20, {{0}}, Duration{1000})}};
  const JobId job{ClientId{0}, 0};
  const ServiceMetrics m = judge(scenario, {{.time = Time{0}, .job = job, .mark = Mark::released},
                                            {.time = Time{5}, .job = job, .mark = Mark::killed},
                                            {.time = Time{9}, .mark = Mark::ended}})
                               .clients[0];
  CHECK(m.missed == 1);
  CHECK(m.undecided == 0);
  CHECK(m.lost);
}

TEST_CASE("runs without jobs have no rates, and are not counted as ones without throughput", "[services]") {
  ServiceMeter services({client("A", 0, 10)}, 1);
  RunMeter meter(1, services, 1);
  meter.tell(&services);
  const auto run = [&](const std::vector<Record>& records) {
    meter.reset();
    for (const Record& record : records) meter.record(record);
    services.run_over(meter.totals());
  };
  run({{.time = Time{0}, .mark = Mark::ended}});
  CHECK(std::isnan(services.metrics()[0].throughput_per_s));
  CHECK(services.metrics()[0].released == 0);
  const JobId job{ClientId{0}, 0};
  run({{.time = Time{0}, .job = job, .mark = Mark::released},
       {.time = Time{10}, .job = job, .mark = Mark::finished},
       {.time = Time{10}, .mark = Mark::ended}});
  const ServiceMetrics m = services.metrics()[0];
  CHECK(m.throughput_per_s == Approx(1e9 / 10));
  CHECK(m.queue_mean == Approx(1));
  CHECK(m.released == 1);
  CHECK_FALSE(m.lost);
}

TEST_CASE("GPU time is held against weights while there is something to share", "[services]") {
  // A from 10 to 110 alone until 30, then both have jobs until 115; B from 125 to 145 alone.
  Client a = client("A", 0, 100), b = client("B", 30, 20);
  a.weight = 3;
  const auto clients = judge({{a, b}}, "fcfs").clients;
  CHECK(clients[0].gpu_time_ns == 100);
  CHECK(clients[1].gpu_time_ns == 20);
  CHECK(clients[0].share_against_weight == Approx(100 / (20 + 0.75 * 80)));
  CHECK(clients[1].share_against_weight == Approx(20 / (0.25 * 80 + 20)));
}

TEST_CASE("clients that are on a GPU together share its time evenly", "[services]") {
  const JobId a{ClientId{0}, 0}, b{ClientId{1}, 0};
  const Scenario scenario{{client("A", 0, 1), client("B", 0, 1)}};
  const auto at = [](std::int64_t time, Mark mark, JobId job, std::uint64_t launch) {
    return Record{.time = Time{time}, .launch = {launch}, .job = job, .mark = mark};
  };
  // A from 0 to 60 with two launches, B from 20 to 100.
  const auto clients =
      judge(scenario, {at(0, Mark::released, a, 0), at(0, Mark::released, b, 0), at(0, Mark::started, a, 1),
                       at(10, Mark::started, a, 2), at(20, Mark::started, b, 3), at(40, Mark::gone, a, 1),
                       at(60, Mark::gone, a, 2), at(60, Mark::finished, a, 0), at(100, Mark::gone, b, 3),
                       at(100, Mark::finished, b, 0), at(100, Mark::ended, {}, 0)})
          .clients;
  CHECK(clients[0].gpu_time_ns == 20 + 20);
  CHECK(clients[1].gpu_time_ns == 20 + 40);
  CHECK(clients[0].share_against_weight == Approx(40.0 / 30));
  CHECK(clients[1].share_against_weight == Approx(60.0 / 70));
}

TEST_CASE("several runs: counts add up, the rest is averaged", "[services]") {
  const Scenario scenario{{requests("A", 20, {{0}, {10}}, Duration{40})}};
  ServiceMeter services(scenario.clients, 1);
  RunMeter meter(1, services, 1);
  meter.tell(&services);
  const Played whole = play(scenario, "fcfs");
  Scenario shorter = scenario;
  shorter.horizon = Time{40};
  const Played half = play(shorter, "fcfs");
  for (const Played* played : {&whole, &half}) {
    meter.reset();
    for (const Record& record : played->records) meter.record(record);
    services.run_over(meter.totals());
  }
  const ServiceMetrics m = services.metrics()[0];
  CHECK(m.met == 2);
  CHECK(m.missed == 1);
  CHECK(m.undecided == 1);
  CHECK(m.throughput_per_s == Approx((2e9 / 70 + 1e9 / 40) / 2));
  CHECK(m.gpu_time_ns == (40 + 20) / 2.0);
  CHECK(m.queue_mean == Approx((95 / 70.0 + 65 / 40.0) / 2));
}

TEST_CASE("laws of what services are judged by", "[services][long]") {
  for (const int i : case_numbers(60, 5'000))
    for (const std::string& policy : all_policies()) {
      INFO("scenario " << i << " under " << policy);
      Scenario scenario = random_scenario(static_cast<std::uint64_t>(i));
      for (Client& c : scenario.clients) c.slo = Duration{20'000};
      const Judged judged = judge(scenario, policy);
      double used = 0, entitled = 0;
      std::vector<double> arrived(scenario.clients.size()), area(scenario.clients.size());
      for (const JobResult& job : judged.jobs) {
        ++arrived[job.id.client.index];
        area[job.id.client.index] += static_cast<double>(job.age().ns);
      }
      const auto window = static_cast<double>(judged.totals.makespan().ns);
      for (std::size_t c = 0; c < judged.clients.size(); ++c) {
        const ServiceMetrics& m = judged.clients[c];
        used += m.gpu_time_ns;
        if (m.share_against_weight > 0) entitled += m.gpu_time_ns / m.share_against_weight;
        REQUIRE(static_cast<double>(m.met + m.missed + m.undecided) == arrived[c]);
        // Little's law.
        REQUIRE(m.queue_mean == Approx(m.arrivals_per_s * 1e-9 * area[c] / arrived[c]));
        REQUIRE(m.queue_mean <= static_cast<double>(m.queue_max));
        REQUIRE(m.gpu_share == Approx(m.gpu_time_ns / window));
      }
      // Nobody's time is counted twice or lost, and what one has beyond its weight another lacks.
      REQUIRE(used == Approx(static_cast<double>(judged.totals.executing.ns)));
      REQUIRE(entitled <= used * (1 + 1e-9));
    }
}

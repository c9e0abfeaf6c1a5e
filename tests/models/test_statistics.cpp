#include <algorithm>
#include <cmath>

#include "models/metrics/replication.hpp"
#include "models/metrics/statistics.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"

using namespace gangway;

TEST_CASE("the 95% interval uses Student's t") {
  // Two values 1 apart: deviation sqrt(1/2), t(1) = 12.7062.
  CHECK(*half_width_95({1, 2}) == Approx(12.7062 * std::sqrt(0.5) / std::sqrt(2)).epsilon(1e-5));
  // t(19) = 2.09302
  std::vector<double> twenty(20, 0.0);
  for (std::size_t i = 1; i < twenty.size(); i += 2) twenty[i] = 1;
  CHECK(*half_width_95(twenty) == Approx(2.09302 * deviation(twenty, true) / std::sqrt(20)).epsilon(1e-5));
  CHECK_FALSE(half_width_95({1}).has_value());
}

TEST_CASE("deviations of a population and of a sample") {
  CHECK(deviation({1, 3}, false) == Approx(1));
  CHECK(deviation({1, 3}, true) == Approx(std::sqrt(2)));
  CHECK(deviation({5}, true) == 0);
}

TEST_CASE("Jain's index spans from 1/n to 1") {
  CHECK(jain({2, 2, 2}) == Approx(1));
  CHECK(jain({1, 0, 0, 0}) == Approx(0.25));
}

TEST_CASE("percentiles are nearest ranks") {
  Percentiles p;
  for (int i = 100; i >= 1; --i) p.add(Duration{i});
  CHECK(p.at(0.99).ns == 99);
  CHECK(p.at(0.5).ns == 50);
  CHECK(p.at(1).ns == 100);
  CHECK(p.at(0.001).ns == 1);
  CHECK(Percentiles().at(0.5).ns == 0);
}

TEST_CASE("many values go to buckets no wider than a thousandth, in any order of merging") {
  Stream random(1, "percentiles", {});
  std::vector<std::int64_t> all;
  Percentiles whole, first, second;
  constexpr int kAll = Percentiles::kExact * 3 / 2;
  for (int i = 0; i < kAll; ++i) {
    const auto value = static_cast<std::int64_t>(std::exp(25 * random.uniform()));
    all.push_back(value);
    whole.add(Duration{value});
    (i < 100'000 ? first : second).add(Duration{value});
  }
  Percentiles merged = second;
  merged.add(first);
  first.add(second);
  std::sort(all.begin(), all.end());
  for (const double share : {0.01, 0.5, 0.99, 0.9999}) {
    const auto exact = static_cast<double>(all[static_cast<std::size_t>(std::ceil(share * kAll)) - 1]);
    CHECK(static_cast<double>(whole.at(share).ns) == Approx(exact).epsilon(0.001));
    CHECK(merged.at(share) == whole.at(share));
    CHECK(first.at(share) == whole.at(share));
  }
}

TEST_CASE("a replication averages clients first: NTT, ANTT, DNTT, STP") {
  ReplicationMeter meter({{Duration{100}}, {Duration{200}}}, false);
  const auto job = [](std::uint32_t client, std::int64_t response, std::int64_t standalone) {
    JobResult result;
    result.id.client = ClientId{client};
    result.finish = Time{response};
    result.standalone = Duration{standalone};
    result.executing = Duration{standalone};
    return result;
  };
  RunTotals totals;
  totals.first_release = Time{};
  totals.end = Time{600};
  totals.finished = 2;
  totals.executing = Duration{300};
  totals.evictions = 4;
  meter.job(job(0, 100, 100));  // NTT 1
  meter.job(job(1, 600, 200));  // NTT 3
  meter.run_over(totals);
  totals.evictions = 1;
  meter.job(job(0, 300, 100));  // NTT 3
  meter.job(job(1, 200, 200));  // NTT 1
  meter.run_over(totals);
  const ReplicationMetrics m = meter.metrics();
  CHECK(m.clients[0].ntt == Approx(2));
  CHECK(m.clients[1].ntt == Approx(2));
  CHECK(m.antt == Approx(2));
  CHECK(m.dntt == Approx(0).margin(1e-12));  // per run it would be 1
  CHECK(m.stp == Approx(1));                 // the sum of 1/2 and 1/2
  CHECK(m.jain == Approx(1));
  CHECK(m.evictions == Approx(2.5));
  CHECK(m.utilisation == Approx(0.5));
  CHECK(m.waiting_ns == Approx((0 + 400 + 200 + 0) / 4.0));
  // Alone 100 and 200 a job; shared 200 and 400 a job, averaged over runs.
  CHECK(m.concurrency_efficiency == Approx(0.5 + 0.5));
  CHECK(m.jobs == 4);
}

TEST_CASE("the time per job begins with the first release, whichever job finishes first, or never") {
  const auto efficiency = [](const std::vector<std::pair<std::int64_t, std::optional<std::int64_t>>>& jobs) {
    ReplicationMeter meter({{Duration{100}}}, false);
    for (const auto& [arrival, finish] : jobs) {
      JobResult result;
      result.arrival = Time{arrival};
      if (finish) result.finish = Time{*finish};
      result.over = Time{1000};
      result.standalone = Duration{100};
      meter.job(result);
    }
    meter.run_over({});
    return meter.metrics().concurrency_efficiency;
  };
  CHECK(efficiency({{0, 250}, {100, 400}}) == Approx(100 / (400 / 2.0)));
  CHECK(efficiency({{100, 250}, {0, 400}}) == Approx(100 / (400 / 2.0)));
  // Whose first job is not over at the end, at 1000, has spent all that time on one job.
  CHECK(efficiency({{100, 400}, {0, {}}}) == Approx(100 / 1000.0));
}

TEST_CASE("unfinished jobs count with their age where that raises a client's means") {
  // Alone 10 a job. B's first job takes 10, of which it waits 2; its others are 40 and 20 old at the end, at
  // 60, and have run for 4 of these.
  ReplicationMeter meter({{Duration{10}}, {Duration{10}}}, false);
  const auto job = [&](std::uint32_t client, std::int64_t arrival, std::int64_t over, bool finished,
                       std::int64_t ran) {
    JobResult result;
    result.id.client = ClientId{client};
    result.arrival = Time{arrival};
    result.over = Time{over};
    if (finished) result.finish = result.over;
    result.standalone = Duration{10};
    result.executing = Duration{ran};
    meter.job(result);
  };
  job(0, 0, 20, true, 10);
  job(1, 0, 10, true, 8);
  SECTION("they do") {
    job(1, 20, 60, false, 3);
    job(1, 40, 60, false, 1);
    meter.run_over({});
    const ReplicationMetrics m = meter.metrics();
    const ClientAverages& b = m.clients[1];
    CHECK_FALSE(m.clients[0].understated());
    CHECK(b.understated());
    CHECK(b.response_ns == Approx((10 + 40 + 20) / 3.0));
    CHECK(b.ntt == Approx((1 + 4 + 2) / 3.0));
    CHECK(b.waiting_ns == Approx((2 + 37 + 19) / 3.0));
    CHECK((b.least_ntt && b.least_response && b.least_waiting));
    CHECK(b.time_per_job_ns == Approx(60));  // one job until the end
    CHECK(m.antt == Approx((2 + 7 / 3.0) / 2));
    CHECK(m.stp == Approx(1 / 2.0 + 3 / 7.0));
    CHECK(m.waiting_ns == Approx((10 + 2 + 37 + 19) / 4.0));
    CHECK(m.concurrency_efficiency == Approx(10 / 20.0 + 10 / 60.0));
    CHECK(b.jobs == 1);
    CHECK(b.unfinished == 2);
  }
  SECTION("they do not, as the age is no more than the mean") {
    job(1, 50, 60, false, 3);
    meter.run_over({});
    const ReplicationMetrics m = meter.metrics();
    CHECK_FALSE(m.clients[1].understated());
    CHECK(m.clients[1].ntt == Approx(1));
    CHECK(m.clients[1].waiting_ns == Approx(2));
    CHECK(m.clients[1].time_per_job_ns == Approx(10));
  }
  SECTION("what a run's end always cuts off is no news") {
    for (int more = 1; more < 9; ++more) job(1, 0, 10, true, 8);
    SECTION("(9 * 10 + 15) / 10 is 5 % more") { job(1, 45, 60, false, 0); }
    meter.run_over({});
    CHECK_FALSE(meter.metrics().clients[1].understated());
  }
  SECTION("(9 * 10 + 16) / 10 is not") {
    for (int more = 1; more < 9; ++more) job(1, 0, 10, true, 8);
    job(1, 44, 60, false, 0);
    meter.run_over({});
    CHECK(meter.metrics().clients[1].ntt == Approx(1.06));
  }
  SECTION("of many unfinished jobs it counts, too, that they are no older than others became") {
    for (int more = 1; more < 30; ++more) job(1, 0, 10, true, 8);
    job(1, 51, 60, false, 0);
    SECTION("one a run is not many") {
      meter.run_over({});
      CHECK_FALSE(meter.metrics().clients[1].understated());
    }
    SECTION("nor are two of 42") {
      job(1, 51, 60, false, 0);
      for (int more = 0; more < 10; ++more) job(1, 0, 10, true, 8);
      meter.run_over({});
      CHECK_FALSE(meter.metrics().clients[1].understated());
    }
    SECTION("two of 32 are") {
      job(1, 51, 60, false, 0);
      meter.run_over({});
      const ClientAverages b = meter.metrics().clients[1];
      CHECK(b.understated());
      CHECK(b.response_ns == Approx((30 * 10 + 2 * 9) / 32.0));
    }
  }
  SECTION("nothing is known of NTT where the time alone is unknown") {
    JobResult unknown;
    unknown.id.client = ClientId{1};
    unknown.over = Time{60};
    meter.job(unknown);
    meter.run_over({});
    const ClientAverages b = meter.metrics().clients[1];
    CHECK(b.least_response);
    CHECK_FALSE(b.least_ntt);
    CHECK(b.ntt == Approx(1));
  }
}

TEST_CASE("what a killed or refused client did before is a bound") {
  // Alone 10 a job. A's only job takes 20. B's first two take 10; its third is killed.
  const auto killed_at = [](std::int64_t kill, Outcome outcome, bool finished_any) {
    ReplicationMeter meter({{Duration{10}}, {Duration{10}}}, false);
    const auto job = [&](std::uint32_t client, std::int64_t arrival, std::int64_t over, Outcome how) {
      JobResult result;
      result.id.client = ClientId{client};
      result.arrival = Time{arrival};
      result.over = Time{over};
      result.outcome = how;
      if (how == Outcome::finished) result.finish = result.over;
      result.standalone = result.executing = Duration{10};
      meter.job(result);
    };
    job(0, 0, 20, Outcome::finished);
    if (finished_any) job(1, 0, 10, Outcome::finished);
    if (finished_any) job(1, 10, 20, Outcome::finished);
    job(1, 20, kill, outcome);
    RunTotals totals;
    totals.first_release = Time{};
    totals.end = Time{100};
    meter.run_over(totals);
    return std::pair(meter.metrics(), meter.responses()[1]);
  };
  SECTION("however short the killed job is there") {
    const auto [m, responses] = killed_at(21, Outcome::killed, true);
    const ClientAverages& b = m.clients[1];
    CHECK(b.understated());
    CHECK((b.least_response && b.least_waiting));
    CHECK(b.ntt == Approx(1));  // what finished took longer than the 1 known of the killed job
    CHECK(b.response_ns == Approx(10));
    CHECK(b.time_per_job_ns == Approx(100 / 2.0));  // it would have gone on until the end of the run
    CHECK(m.antt == Approx((2 + 1) / 2.0));
    CHECK_FALSE(m.clients[0].understated());
    CHECK_FALSE(responses.at(0.5)->exact);
  }
  SECTION("its age counts where that raises the mean") {
    const auto [m, responses] = killed_at(60, Outcome::killed, true);
    CHECK(m.clients[1].ntt == Approx((1 + 1 + 4) / 3.0));
    CHECK(m.clients[1].response_ns == Approx((10 + 10 + 40) / 3.0));
  }
  SECTION("likewise if it is refused") {
    CHECK(killed_at(20, Outcome::out_of_resources, true).first.clients[1].understated());
  }
  SECTION("who finished nothing starves") {
    const auto [m, responses] = killed_at(60, Outcome::killed, false);
    CHECK(m.clients[1].starved());
    CHECK_FALSE(m.clients[1].understated());
    CHECK(std::isnan(m.antt));
  }
}

TEST_CASE("a client to which nothing is released is not in the averages, and does not starve") {
  ReplicationMeter meter({{Duration{10}}, {Duration{10}}}, false);
  const auto run = [&](const std::vector<std::pair<std::uint32_t, std::int64_t>>& responses) {
    RunTotals totals;
    for (const auto& [client, response] : responses) {
      JobResult result;
      result.id.client = ClientId{client};
      result.finish = result.over = Time{response};
      result.outcome = Outcome::finished;
      result.standalone = result.executing = Duration{10};
      meter.job(result);
      totals.first_release = Time{};
      totals.end = std::max(totals.end, result.over);
    }
    totals.executing = totals.end - Time{};
    meter.run_over(totals);
  };
  SECTION("in one run") {
    run({{0, 20}, {1, 30}});
    run({{0, 40}});
    const ReplicationMetrics m = meter.metrics();
    CHECK_FALSE(m.clients[1].starved());
    CHECK(m.clients[1].ntt == Approx(3));
    CHECK(m.clients[1].time_per_job_ns == Approx(30));
    CHECK(m.antt == Approx((3 + 3) / 2.0));
  }
  SECTION("in any run") {
    run({{0, 20}});
    const ReplicationMetrics m = meter.metrics();
    CHECK(m.clients[1].jobs == 0);
    CHECK_FALSE(m.clients[1].starved());
    CHECK(m.antt == Approx(2));
    CHECK(m.dntt == 0);
    CHECK(m.stp == Approx(0.5));
    CHECK(m.waiting_ns == Approx(10));
    CHECK(m.concurrency_efficiency == Approx(0.5));
  }
  SECTION("nor does a run without jobs count as one of no length") {
    run({{0, 20}});
    run({});
    CHECK(meter.metrics().makespan_ns == 20);
    CHECK(meter.metrics().utilisation == 1);
  }
  SECTION("without any job there are no values") {
    run({});
    const ReplicationMetrics m = meter.metrics();
    CHECK(m.empty());
    CHECK(std::isnan(m.makespan_ns));
    CHECK(std::isnan(m.antt));
  }
}

TEST_CASE("a client whose releases do not wait is as efficient alone as its releases let it be") {
  const auto efficiency = [](Duration alone, bool scheduled, const std::vector<std::int64_t>& releases) {
    ReplicationMeter meter({{alone, scheduled}}, false);
    for (const std::int64_t release : releases) {
      JobResult result;
      result.arrival = Time{release};
      result.finish = result.over = Time{release + 10};
      result.standalone = Duration{10};
      meter.job(result);
    }
    meter.run_over({});
    return meter.metrics().concurrency_efficiency;
  };
  CHECK(efficiency(Duration{10}, true, {0, 100, 200, 300}) == Approx(1));
  CHECK(efficiency(Duration{10}, true, {0, 50, 90, 300}) == Approx(1));  // 100 apart on average
  CHECK(efficiency(Duration{10}, true, {7}) == Approx(1));
  CHECK(efficiency(Duration{100}, false, {0, 100, 200, 300}) == Approx(1));  // it thinks for 90
  // What takes longer than the next release cannot end faster, alone or not.
  CHECK(efficiency(Duration{20}, true, {0, 5, 10, 15}) == Approx(20 / ((25 + 10) / 4.0)));
}

TEST_CASE("Wilson's interval of a share") {
  // The roots of the score equation, by bisection.
  CHECK(wilson_95(10, 50).low == Approx(0.1124375).epsilon(1e-6));
  CHECK(wilson_95(10, 50).high == Approx(0.3303711).epsilon(1e-6));
  CHECK(wilson_95(0, 20).low == 0);
  CHECK(wilson_95(0, 20).high == Approx(0.1611252).epsilon(1e-6));
  CHECK(wilson_95(20, 20).low == Approx(1 - 0.1611252).epsilon(1e-6));
  CHECK(wilson_95(20, 20).high == 1);
  CHECK(wilson_95(1, 3).low == Approx(0.0614919).epsilon(1e-6));
}

TEST_CASE("random streams depend on name and every coordinate, and are uniform") {
  const auto first = [](std::uint64_t seed, const char* name, std::uint64_t a, std::uint64_t b) {
    return Stream(seed, name, {a, b}).next();
  };
  CHECK(first(1, "x", 2, 3) == first(1, "x", 2, 3));
  CHECK(first(1, "x", 2, 3) != first(2, "x", 2, 3));
  CHECK(first(1, "x", 2, 3) != first(1, "y", 2, 3));
  CHECK(first(1, "x", 2, 3) != first(1, "x", 3, 2));
  Stream random(3, "uniform", {});
  double sum = 0, normal = 0, squares = 0;
  std::vector<int> counts(7);
  const int n = 70'000;
  for (int i = 0; i < n; ++i) {
    sum += random.uniform();
    const double z = random.normal();
    normal += z;
    squares += z * z;
    ++counts[random.below(7)];
  }
  CHECK(sum / n == Approx(0.5).margin(0.006));
  CHECK(normal / n == Approx(0).margin(0.02));
  CHECK(squares / n == Approx(1).margin(0.03));
  for (int count : counts) CHECK(count == Approx(10'000).margin(500));
}

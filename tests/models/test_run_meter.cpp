// Evictions as a run's trace tells them: each has its own delay.
#include "models/metrics/run_meter.hpp"
#include "tests/catch.hpp"

using namespace gangway;

namespace {

struct Jobs : JobSink {
  std::vector<JobResult> all;
  void job(const JobResult& result) override { all.push_back(result); }
};

struct Meter {
  Jobs jobs;
  RunMeter meter{1, jobs, 1};
  void operator()(std::int64_t time, Mark mark, std::uint64_t launch = 0, Why why = Why::evicted) {
    meter.record(
        {.time = Time{time}, .launch = LaunchId{launch}, .job = {ClientId{0}, 0}, .mark = mark, .why = why});
  }
};

}  // namespace

TEST_CASE("a launch that is evicted before it has a block adds nothing to the delay of evictions") {
  Meter m;
  m(0, Mark::released);
  m(0, Mark::launch_ordered, 1);
  m(10, Mark::started, 1);
  m(20, Mark::evict_ordered, 1);
  m(27, Mark::gone, 1);
  m(30, Mark::left, 1);
  m(40, Mark::launch_ordered, 2);
  m(41, Mark::evict_ordered, 2);
  m(50, Mark::left, 2);
  m(60, Mark::finished);
  REQUIRE(m.jobs.all.size() == 1);
  CHECK((m.jobs.all[0].evictions == 2 && m.jobs.all[0].eviction_delay == Duration{7}));
  CHECK((m.meter.totals().evictions == 2 && m.meter.totals().eviction_delay == Duration{7}));
}

TEST_CASE("an eviction that is reported before the last block is gone lasts until then") {
  Meter m;
  m(0, Mark::released);
  m(0, Mark::launch_ordered, 1);
  m(10, Mark::started, 1);
  m(20, Mark::evict_ordered, 1);
  m(22, Mark::left, 1);
  m(45, Mark::gone, 1);
  m(60, Mark::finished);
  REQUIRE(m.jobs.all.size() == 1);
  CHECK((m.jobs.all[0].evictions == 1 && m.jobs.all[0].eviction_delay == Duration{25}));
}

TEST_CASE("an eviction that is ordered before the first block counts from the order") {
  Meter m;
  m(0, Mark::released);
  m(0, Mark::launch_ordered, 1);
  m(5, Mark::evict_ordered, 1);
  m(10, Mark::started, 1);
  m(18, Mark::gone, 1);
  m(20, Mark::left, 1);
  m(60, Mark::finished);
  CHECK(m.jobs.all[0].eviction_delay == Duration{13});
}

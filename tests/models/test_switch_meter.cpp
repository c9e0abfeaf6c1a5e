// The share of a run in which a launch owns the GPU and none of its blocks is there.
#include "models/metrics/switch_meter.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "tests/sim/random_scenario.hpp"

using namespace gangway;
using namespace gangway::testing;

namespace {

double share_of(const Played& played) {
  SwitchMeter meter(1);
  for (const Record& record : played.records) meter.record(record);
  return meter.share().value();
}

}  // namespace

TEST_CASE("a kernel alone costs its launch and its report") {
  // 0 launch, 10 start, 110 gone, 115 left.
  CHECK(share_of(play({{client("A", 0, 100)}}, "fcfs")) == Approx(15.0 / 115));
}

TEST_CASE("time before the first release and time that nobody owns are no switching") {
  Client a = client("A", 50, 100);
  a.repeat = {2, Duration{1000}, std::nullopt};  // 50-165 and 1050-1165
  CHECK(share_of(play({{a}}, "fcfs")) == Approx(30.0 / 1115));
}

TEST_CASE("a launch that is evicted before it starts is nothing but switching") {
  // A 0-15 for nothing, B 15-50 with 20 of work, A 50-165 with 100: of 165 ns all but 120.
  CHECK(share_of(play({{client("A", 0, 100), client("B", 3, 20)}}, "srt")) == Approx(45.0 / 165));
}

TEST_CASE("what a policy's timers and the horizon leave after the last job does not count") {
  Scenario scenario{{client("A", 0, 100)}};
  scenario.horizon = Time{1'000'000};
  for (const std::string policy :
       {"fcfs", "{name: rr, params: {quantum: 500 us}}", "{name: cfs, params: {epoch: 3 s}}"})
    CHECK(share_of(play(scenario, policy)) == Approx(15.0 / 115));
}

TEST_CASE("a run that ends early counts what was begun") {
  Scenario scenario{{client("A", 0, 100)}};
  scenario.horizon = Time{8};
  SwitchMeter meter(1);
  for (const Record& record : play(scenario, "fcfs").records) meter.record(record);
  const auto share = meter.share();
  REQUIRE((!share || (*share >= 0 && *share <= 1)));
}

TEST_CASE("a killed or refused job, or an ended program's, is over, and nothing behind it counts") {
  for (const Mark mark : {Mark::killed, Mark::refused, Mark::program_ended}) {
    SwitchMeter meter(1);
    meter.record({.time = Time{0}, .mark = Mark::released});
    meter.record({.time = Time{0}, .launch = {1}, .mark = Mark::launch_ordered});
    meter.record({.time = Time{10}, .launch = {1}, .mark = Mark::started});
    meter.record({.time = Time{50}, .mark = mark});
    meter.record({.time = Time{1000}, .mark = Mark::ended});
    CHECK(meter.share().value() == Approx(10.0 / 50));
  }
}

TEST_CASE("the news of a launch that comes after the last job does not count") {
  SwitchMeter meter(1);
  meter.record({.time = Time{0}, .mark = Mark::released});
  meter.record({.time = Time{0}, .launch = {1}, .mark = Mark::launch_ordered});
  meter.record({.time = Time{10}, .launch = {1}, .mark = Mark::started});
  meter.record({.time = Time{90}, .launch = {1}, .mark = Mark::gone});
  meter.record({.time = Time{100}, .mark = Mark::finished});
  meter.record({.time = Time{115}, .launch = {1}, .mark = Mark::left});
  meter.record({.time = Time{1000}, .mark = Mark::ended});
  CHECK(meter.share().value() == Approx(20.0 / 100));
}

TEST_CASE("where no policy launches there is no share") {
  SwitchMeter meter(1);
  meter.record({.time = Time{0}, .mark = Mark::released});
  meter.record({.time = Time{10}, .mark = Mark::ended});
  CHECK(!meter.share());
}

TEST_CASE("switching and executing are never the same time", "[long]") {
  for (const int i : case_numbers(100, 10'000))
    for (const std::string& policy : all_policies()) {
      INFO("scenario " << i << " under " << policy);
      const Played played = play(random_scenario(static_cast<std::uint64_t>(i)), policy);
      const double switching = share_of(played);
      REQUIRE(switching >= 0);
      REQUIRE(switching + played.totals.utilisation() <= 1 + 1e-9);
    }
}

// On which GPUs recorded clients are, by hand, and what their jobs take alone (sim/recorded/README.md).
#include "experiments/running/scaled_alone.hpp"
#include "models/recording/summary.hpp"
#include "tests/catch.hpp"
#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {
namespace {

using recording::OrderKind;
using Jobs = std::vector<std::string>;

}  // namespace

TEST_CASE("recorded clients are placed where least is used", "[recorded]") {
  RecordedScenario s;
  s.device.gpus = 2;
  s.placing = Placing::least_used;
  s.slice(1000, 5);
  // Two requests within 100: A uses all of the first GPU, however late they come.
  // The second kernel begins 1000 behind the first one, as nothing recorded says how soon it can.
  s.client("A", one_kernel(100));
  s.paced(0, {.jobs = 2, .period = {}, .think = {}, .releases = {Duration{1000}, Duration{1100}}});
  // 100 of 212, so C is on the second one, too: B's kernel is there from 1011 to 1111, C's from 1116.
  s.client("B", one_kernel(100)).arrive = Duration{1001};
  s.paced(1, {.jobs = 1, .period = {}, .think = Duration{100}});
  s.recorded(1).job = Duration{112};
  s.client("C", one_kernel(50));
  s.paced(2, {.jobs = 1, .period = {}, .think = {}, .releases = {Duration{1002}}});
  for (std::size_t c = 0; c < 2; ++c) s.recorded(c).busy = Duration{100};
  s.play();
  CHECK(s.jobs == Jobs{"1000-1112 1100-2212", "1001-1113", "1002-1168"});
}

TEST_CASE("scaled jobs of several threads are each measured alone", "[recorded]") {
  // While the second thread is at its first job, 212 long, the first one could begin its only one again.
  MadeRecording m;
  const auto a = m.stream(), b = m.stream(), second = m.thread();
  m.kernel(a, 0, 10, 50);
  m.kernel(b, 2, 12, 100, second);
  m.wait(OrderKind::stream, a, 6, 56);
  m.wait(OrderKind::stream, b, 8, 106, second);
  m.awaited_kernel(b, 120, 100, second);
  RecordedScenario s;
  s.client("A", m.r);
  s.recorded(0).kernel_scale = 2;
  const auto alone = measured_alone(s.clients[0], s.device);
  CHECK(alone->scaled == std::vector{Duration{112}, Duration{212}, Duration{212}});
  CHECK(alone->job == Duration{178});
}

TEST_CASE("a launch is the host's time while its call lasts", "[recorded]") {
  const auto alone = [](std::int64_t launch, double scale) {
    MadeRecording m;
    const auto a = m.stream();
    m.kernel(a, 0, launch, 100);  // the call takes 5
    m.wait(OrderKind::stream, a, 20, launch + 80);
    RecordedScenario s;
    s.client("A", m.r);
    s.recorded(0).host_scale = scale;
    return measured_alone(s.clients[0], s.device)->job;
  };
  CHECK(alone(10, 2) == Duration{5 * 2 + 5 + 100});
  CHECK(alone(10, 0.2) == Duration{1 + 5 + 100});
  CHECK(alone(3, 2) == Duration{3 * 2 + 100});
}

TEST_CASE("what a recording's median job takes unrecorded scales the host's times", "[recorded]") {
  // A job whose second kernel begins as soon as it can, and four in which the host takes about 4,000, 3,000,
  // 1,000 and 3,500 between two kernels of 50.
  MadeRecording m;
  const auto a = m.stream();
  m.kernel(a, 0, 10, 50);
  m.kernel(a, 6, 62, 50);
  m.wait(OrderKind::stream, a, 12, 104);
  std::int64_t begin = 10'000;
  for (const std::int64_t pause : {4000, 3000, 1000, 3500}) {
    m.kernel(a, begin, begin + 10, 50);
    m.kernel(a, begin + pause, begin + pause + 10, 50);
    m.wait(OrderKind::stream, a, begin + pause + 6, 60);
    begin += 10'000;
  }
  RecordedScenario s;
  s.client("A", m.r);
  const Duration median = recording::median_job(*s.recorded(0).program);
  s.recorded(0).job = Duration{2'000};
  const auto scale_for = [&](double share) {
    const Duration time{std::llround(share * static_cast<double>(median.ns))};
    s.recorded(0).unrecorded = TimeAlone{time, {"a.rec", 1}, "recording", true};
    return measured_alone(s.clients[0], s.device);
  };
  const auto shorter = scale_for(0.8);
  CHECK(static_cast<double>(recording::median_of(shorter->scaled).ns) ==
        Approx(0.8 * static_cast<double>(median.ns)).epsilon(0.002));
  // The mean plays no part: which of the jobs a recorder slows changes it, and not the others.
  s.recorded(0).job = Duration{1'000'000};
  CHECK(scale_for(0.8)->host_scale == shorter->host_scale);
  // A quarter of the host's time is the least; what is said is at most 2 % shorter than that.
  s.recorded(0).unrecorded.reset();
  s.recorded(0).host_scale = 0.25;
  const Duration fast = recording::median_of(measured_alone(s.clients[0], s.device)->scaled);
  s.recorded(0).host_scale = 1;
  const double least = static_cast<double>(fast.ns) / static_cast<double>(median.ns);
  CHECK(scale_for(0.985 * least)->host_scale == Approx(0.25).margin(0.01));
  CHECK(scale_for(0.97 * least)->host_scale == 1);
  CHECK(scale_for(1.2)->host_scale == 1);
}

TEST_CASE("a host that the GPU hides is as slow as may be", "[recorded]") {
  // The second kernel, of 1,000, is launched 300 before it can begin: the host may be far slower or faster.
  MadeRecording m;
  const auto a = m.stream();
  m.kernel(a, 0, 10, 1000);
  m.kernel(a, 700, 1010, 1000);
  m.wait(OrderKind::stream, a, 706, 1310);
  RecordedScenario s;
  s.client("A", m.r);
  s.recorded(0).job = s.recorded(0).program->jobs[0].length;
  const auto scale_for = [&](Duration time) {
    s.recorded(0).unrecorded = TimeAlone{time, {"a.rec", 1}, "recording", true};
    return measured_alone(s.clients[0], s.device)->host_scale;
  };
  CHECK(scale_for(s.recorded(0).job) == 1);
  CHECK(scale_for(Duration{s.recorded(0).job.ns * 99 / 100}) == 1);
}

TEST_CASE("a time alone scales the host's times, so that jobs take it", "[recorded]") {
  // A job whose second kernel begins as soon as it can, 2 behind the first, and one with 294 of the host
  // between.
  MadeRecording m;
  const auto a = m.stream();
  m.kernel(a, 0, 10, 50);
  m.kernel(a, 6, 62, 50);
  m.wait(OrderKind::stream, a, 12, 104);
  m.kernel(a, 1000, 1010, 50);
  m.kernel(a, 1300, 1310, 50);
  m.wait(OrderKind::stream, a, 1306, 60);
  RecordedScenario s;
  s.client("A", m.r);
  const auto with_scale = [&](double scale) {
    s.recorded(0).unrecorded.reset();
    s.recorded(0).host_scale = scale;
    return measured_alone(s.clients[0], s.device)->job;
  };
  const auto with_alone = [&](Duration time) {
    s.recorded(0).host_scale = 1;
    s.recorded(0).unrecorded = TimeAlone{time, {"e.yaml", 3}, "alone"};
    return measured_alone(s.clients[0], s.device);
  };
  s.recorded(0).job = Duration{(116 + 366) / 2};  // as reading sums it up
  for (const double scale : {0.25, 0.7, 1.0, 1.5}) {
    const Duration job = with_scale(scale);
    const auto found = with_alone(job);
    CHECK(found->job == job);
    CHECK(found->host_scale == Approx(scale).epsilon(0.02));
  }
  CHECK(with_scale(0.25) < with_scale(0.7));
  CHECK_THROWS_WITH(with_alone(Duration{3}), Catch::Matchers::ContainsSubstring(
                                                 "e.yaml:3: key 'alone': found 3 ns, expected at least "));
  CHECK_THROWS_WITH(
      with_alone(Duration{1'000'000}),
      Catch::Matchers::ContainsSubstring("e.yaml:3: key 'alone': found 1 ms, expected at most "));
}

}  // namespace gangway::testing

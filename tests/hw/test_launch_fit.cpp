// What calibration makes of launches that it saw, of kernels whose behaviour is made up here.
#include <algorithm>
#include <cmath>

#include "hw/calibration/drift.hpp"
#include "hw/calibration/launches.hpp"
#include "models/fit/location.hpp"
#include "models/random.hpp"
#include "sim/world.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"

using namespace gangway;

namespace {

constexpr double kTime = 1e6, kTasks = 10'000, kBlocks = 1'056;

SeenLaunches seen_of(double each, double longer, bool in_step) {
  SeenLaunches seen;
  seen.tasks = kTasks;
  seen.time = kTime;
  seen.blocks = kBlocks;
  Stream random(1, "launch fit", {});
  for (int i = 0; i < 24; ++i) {
    const double noise = 500 * random.normal();
    seen.command.push_back(12'000 + noise);
    seen.pending_work.push_back(7'000 + noise);
    seen.after_another.push_back(kTime + longer + noise);
    const double tasks = std::floor(kTasks * (i + random.uniform()) / 24) + 1;
    const auto rounds = [](double n) { return std::ceil(n / kBlocks); };
    const double share = in_step ? rounds(tasks) / rounds(kTasks) : tasks / kTasks;
    seen.rests.push_back({tasks, longer + each + share * (kTime - each) + noise});
  }
  return seen;
}

void check_near(Duration found, double expected, double most) {
  CHECK(std::abs(static_cast<double>(found.ns) - expected) <= most);
}

std::vector<MeasuredEviction> evictions(int count, double length, double noise) {
  Stream random(2, "launch fit", {});
  std::vector<MeasuredEviction> all;
  for (int i = 0; i < count; ++i) {
    const double ordered = kTime * i / count;
    const double in_task = std::fmod(ordered, length), spread = noise * random.uniform();
    const double gone = ordered + 10'000 + (length - in_task) + spread;
    const auto ns = [](double x) { return Duration{std::llround(x)}; };
    all.push_back({ns(ordered), ns(gone), ns(gone - 10'000)});
  }
  return all;
}

}  // namespace

TEST_CASE("launch fit: command, pending work, what each launch takes and how much longer it is") {
  const MeasuredLaunches found = described(seen_of(30'000, 4'000, false));
  check_near(*found.launch, 12'000, 500);
  check_near(*found.pending_work, 7'000, 500);
  check_near(found.after_another, 4'000, 500);
  check_near(found.each, 30'000, 1'500);
  CHECK(found.in_step == 0);
  CHECK(found.evictions.empty());
}

TEST_CASE("launch fit: block-tasks in step are told from those that are not") {
  const MeasuredLaunches found = described(seen_of(0, 4'000, true));
  CHECK(found.in_step == static_cast<std::int64_t>(kBlocks));
  check_near(found.each, 0, 1'500);
}

TEST_CASE("launch fit: where all block-tasks are claimed at once they are not in step") {
  SeenLaunches seen = seen_of(900'000, 0, false);
  seen.blocks = kTasks;
  CHECK(described(seen).in_step == 0);
}

TEST_CASE("launch fit: few neighbours where a delay follows from the moment, many where it does not") {
  CHECK(best_neighbours(evictions(120, 300'000, 2'000)) <= 3);  // long block-tasks in step
  CHECK(best_neighbours(evictions(120, 1, 20'000)) >= 20);      // short ones: noise alone
  CHECK(best_neighbours(evictions(1, 1, 0)) == 1);
}

TEST_CASE("launch fit: evictions keep their times and count work of the time that follows block-tasks") {
  SeenLaunches seen = seen_of(200'000, 0, false);
  for (int i = 11; i > 0; --i) seen.evictions.push_back({i * 50'000.0, i * 50'000.0 + 20'000, i * 500.0});
  const MeasuredLaunches found = described(seen);
  REQUIRE(found.evictions.size() == 11);
  CHECK(found.evictions[1].ordered == Duration{100'000});
  CHECK(found.evictions[1].gone == Duration{120'000});
  check_near(found.evictions[1].work, 1'000 / kTasks * (kTime - 200'000), 600);
}

// What a file says, the simulator plays; and what is read of that is what the file said.
TEST_CASE("played launches: what the world does is found again") {
  constexpr std::int64_t kWhole = 2'000'000;
  MeasuredLaunches said;
  said.launch = Duration{12'000};
  said.pending_work = Duration{7'000};
  said.after_another = Duration{4'000};
  said.each = Duration{30'000};
  SECTION("delays that do not depend on the moment") {
    said.evictions = {{Duration{0}, Duration{25'000}, Duration{20'000}}};
  }
  SECTION("long block-tasks, in step") {
    for (std::int64_t at = 0; at < kWhole; at += 5'000) {
      const std::int64_t ends = (at + 10'000) / 400'000 * 400'000 + 400'000;
      said.evictions.push_back({Duration{at}, Duration{ends}, Duration{ends - 20'000}});
    }
  }
  Kernel kernel = testing::client("A", 0, kWhole).kernels[0];
  kernel.measured = std::make_shared<const MeasuredLaunches>(said);
  CalibrationPlan plan;
  const Workload workload =
      probed_kernel(plan, "A", kernel, Duration{kWhole}, testing::client("other", 0, 100'000));
  const Device device = testing::small_device();
  const auto mechanism = testing::mechanism_from("flag-copy");
  SimulatedWorld world({.workload = workload, .device = device, .mechanism = *mechanism});
  Calibration c;
  c.persistent_blocks["A"] = 1'000;
  c.readings.push_back({"transformed", "flag-copy", "A", 0, kWhole});
  const std::atomic<bool> stop{false};
  play_launches(world, plan, workload, "flag-copy", kWhole, c, stop);
  const MeasuredLaunches found = described(seen_launches(c, "flag-copy", "A", kernel));

  CHECK(found.launch == said.launch);
  CHECK(*found.pending_work == *said.pending_work + Duration{1});  // and the notice of this device
  CHECK(found.after_another == said.after_another);
  check_near(found.each, 30'000, 2);
  CHECK(found.in_step == 0);
  CHECK(found.evictions.size() > 90);
  CHECK((said.evictions.size() > 1) == (found.near <= 3));
  for (const MeasuredEviction& e : found.evictions) {
    const auto like = std::min_element(said.evictions.begin(), said.evictions.end(), [&](auto& a, auto& b) {
      return std::abs((a.ordered - e.ordered).ns) < std::abs((b.ordered - e.ordered).ns);
    });
    check_near(e.gone - e.ordered, static_cast<double>((like->gone - like->ordered).ns), 2);
    check_near(e.work - e.ordered, static_cast<double>((like->work - like->ordered).ns), 2);
  }
}

namespace {

// 140 jobs of a kernel, one in seven whole, the others evicted at moments spread over its time. Those from
// `first` to `last` run at a clock that is lower by `share`. Rounds of block-tasks in step end when all of
// one are done.
std::vector<Reading> readings_of_jobs(double share, std::size_t first, std::size_t last, double round) {
  std::vector<Reading> all;
  Stream random(3, "drift", {});
  const auto tell = [&](const char* quantity, std::int64_t parameter, double value) {
    all.push_back({quantity, "flag-copy", "A", parameter, std::round(value)});
  };
  for (int i = 0; i < 10; ++i) tell("transformed", 0, kTime);
  for (std::size_t job = 0; job < 140; ++job) {
    const double clock = job >= first && job < last ? 1 + share : 1, noise = 500 * random.normal();
    tell("launch after another", 0, 9'000);
    if (job % 7 == 0) {
      tell("transformed after another", 0, (kTime + 4'000) * clock + noise);
      continue;
    }
    const double ordered = 0.97 * kTime * random.uniform();
    const double worked = std::ceil((ordered / clock + 10'000) / round) * round;  // of the kernel's time
    const double tasks = std::min(kTasks - 1, std::floor(worked / kTime * kTasks));
    const double gone = (worked + 10'000) * clock + noise;
    tell("eviction", 0, gone - ordered);
    tell("eviction's order", 0, ordered);
    tell("work after an eviction's order", 0, tasks / kTasks * kTime - ordered);
    tell(kRestOfKernel, static_cast<std::int64_t>(kTasks - tasks),
         (kTime * (1 - tasks / kTasks) + 4'000) * clock);
  }
  return all;
}

SeenLaunches seen_in(std::vector<Reading> readings) {
  Calibration c;
  c.persistent_blocks["A"] = static_cast<std::int64_t>(kBlocks);
  c.readings = std::move(readings);
  Kernel kernel;
  kernel.block_tasks = {static_cast<std::int64_t>(kTasks)};
  return seen_launches(c, "flag-copy", "A", kernel);
}

double median_work(const SeenLaunches& seen) {
  std::vector<double> works;
  for (const SeenEviction& e : seen.evictions) works.push_back(e.tasks / kTasks * kTime - e.ordered);
  return median(works);
}

}  // namespace

TEST_CASE("launch fit: a clock that falls for a while is left out of what launches take") {
  const SeenLaunches steady = seen_in(readings_of_jobs(0, 0, 0, 1'000));
  CHECK(steady.slower == 0);
  CHECK(std::abs(median(steady.after_another) - kTime - 4'000) < 500);
  const SeenLaunches drifting = seen_in(readings_of_jobs(0.06, 30, 120, 1'000));
  CHECK(std::abs(drifting.slower - 0.06) < 0.003);
  CHECK(drifting.evictions.size() == steady.evictions.size());
  CHECK(std::abs(median(drifting.after_another) - median(steady.after_another)) < 3'000);
  CHECK(std::abs(median_work(drifting) - median_work(steady)) < 3'000);
  const MeasuredLaunches found = described(drifting), usual = described(steady);
  check_near(found.after_another, static_cast<double>(usual.after_another.ns), 3'000);
  check_near(found.each, static_cast<double>(usual.each.ns), 5'000);
}

TEST_CASE("launch fit: moments within long block-tasks are not taken for a clock") {
  const SeenLaunches seen = seen_in(readings_of_jobs(0, 0, 0, 45'000));
  CHECK(seen.slower == 0);
}

TEST_CASE("launch fit: orders that came too late part from those that evicted") {
  const auto evicted = [](std::initializer_list<double> orders) {
    std::vector<SeenEviction> out;
    for (const double order : orders) out.push_back({order, order + 10, 1});
    return out;
  };
  CHECK(latest_order(evicted({10, 30, 20}), {70, 60}) == 45);
  CHECK(latest_order(evicted({10, 20, 30, 55, 56}), {40, 60, 70}) ==
        58);  // but for one, wherever else for two
  CHECK(latest_order(evicted({10, 20, 30}), {}) == 30);
  CHECK(latest_order({}, {40, 60}) == 40);
  // From 0.975 of the kernel's time on.
  auto readings = readings_of_jobs(0, 0, 0, 1'000);
  for (int i = 0; i < 20; ++i) {
    readings.push_back({"launch after another", "flag-copy", "A", 0, 9'000});
    readings.push_back({"transformed after another", "flag-copy", "A", 0, kTime + 4'000});
    readings.push_back({kOrderTooLate, "flag-copy", "A", 0, std::round((0.975 + 0.001 * i) * kTime)});
  }
  check_near(described(seen_in(readings)).too_late, 4'000 + 0.03 * kTime, 0.01 * kTime);
  CHECK(described(seen_in(readings_of_jobs(0, 0, 0, 1'000))).too_late == Duration{});
}

TEST_CASE("slowdowns: single slow jobs are no drift, and few jobs show none") {
  std::vector<JobTime> jobs(60, {false, kTime});
  for (std::size_t i = 0; i < jobs.size(); i += 5) jobs[i].ns = 1.3 * kTime;
  CHECK(slowdowns(jobs, kTime) == std::vector<double>(60, 1.0));
  for (std::size_t i = 20; i < 40; ++i) jobs[i] = {i % 2 == 0, 1.1 * kTime};
  for (std::size_t i = 40; i < 60; ++i) jobs[i] = {i % 2 == 0, kTime};
  const std::vector<double> found = slowdowns(jobs, kTime);
  CHECK(found[10] == 1);
  CHECK(std::abs(found[30] - 1.1) < 1e-9);
  CHECK(found[50] == 1);
  jobs.resize(19);
  CHECK(slowdowns(jobs, kTime) == std::vector<double>(19, 1.0));
}

TEST_CASE("slowdowns: one or the other of two times, at random, is no drift") {
  Stream random(5, "drift", {});
  std::vector<JobTime> jobs;
  for (int i = 0; i < 140; ++i)
    jobs.push_back({i % 7 != 0, kTime * (random.uniform() < 0.45 ? 1.033 : 1.0) + 500 * random.normal()});
  CHECK(slowdowns(jobs, kTime) == std::vector<double>(140, 1.0));
}

TEST_CASE("slowdowns: a scheduler that is slow for a while makes evictions longer, not the kernel") {
  Stream random(6, "drift", {});
  std::vector<JobTime> jobs;
  for (int i = 0; i < 140; ++i) {
    const bool evicted = i % 7 != 0;
    const double late = evicted && i >= 40 && i < 110 ? 0.05 * kTime : 0;
    jobs.push_back({evicted, kTime + late + 500 * random.normal()});
  }
  CHECK(slowdowns(jobs, kTime) == std::vector<double>(140, 1.0));
}

// What calibration makes of launches that it saw, of kernels whose behaviour is made up here.
#include <cmath>

#include "hw/calibration/launches.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"

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

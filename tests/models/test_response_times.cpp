#include <algorithm>
#include <limits>

#include "models/metrics/response_times.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"

using namespace gangway;

namespace {

ResponseTimes of(const std::vector<std::int64_t>& finished, const std::vector<std::int64_t>& ages) {
  ResponseTimes times;
  for (const std::int64_t value : finished) times.add_finished(Duration{value});
  for (const std::int64_t age : ages) times.add_unfinished(Duration{age});
  return times;
}

}  // namespace

TEST_CASE("percentiles of finished jobs alone are exact", "[metrics]") {
  const auto p = of({1, 2, 3, 4}, {}).at(0.5);
  REQUIRE(p);
  CHECK(p->value == Duration{2});
  CHECK(p->exact);
  CHECK_FALSE(of({}, {}).at(0.5));
}

TEST_CASE("an unfinished job that could not change a percentile leaves it exact", "[metrics]") {
  // Among 401 jobs rank 397 is a finished one, however long the last job takes.
  std::vector<std::int64_t> finished(400, 10);
  const auto p99 = of(finished, {1000}).at(0.99);
  CHECK(p99->value == Duration{10});
  CHECK(p99->exact);
}

TEST_CASE("an unfinished job counts with its age, and its percentile is a lower bound", "[metrics]") {
  const auto p99 = of({1, 1, 1, 1}, {1000}).at(0.99);
  CHECK(p99->value == Duration{1000});
  CHECK_FALSE(p99->exact);
  SECTION("also where it is younger than the percentile: it may yet exceed it") {
    const ResponseTimes times = of({10, 20, 30}, {5, 5});
    const auto median = times.at(0.5);
    CHECK(median->value == Duration{10});
    CHECK_FALSE(median->exact);
    CHECK(times.most(0.5) == Duration{30});  // if both take longer than any that finished
  }
  SECTION("and where no job finished") {
    CHECK(of({}, {7}).at(0.5)->value == Duration{7});
    CHECK_FALSE(of({}, {7}).at(0.5)->exact);
    CHECK_FALSE(of({}, {7}).most(0.5));
  }
}

TEST_CASE("who is killed or refused has no more jobs: every percentile is a lower bound", "[metrics]") {
  ResponseTimes times = of(std::vector<std::int64_t>(400, 10), {});
  times.add_lost(Duration{5});
  CHECK(times.at(0.5)->value == Duration{10});
  CHECK_FALSE(times.at(0.5)->exact);
  CHECK_FALSE(times.most(0.5));
  CHECK(times.unfinished() == 1);
  ResponseTimes pooled = of({10}, {});
  pooled.add(times);
  CHECK_FALSE(pooled.at(0.5)->exact);
}

TEST_CASE("a median that nothing can raise stays exact where percentiles are rounded", "[metrics]") {
  ResponseTimes times;
  for (std::size_t i = 0; i < Percentiles::kExact; ++i) times.add_finished(Duration{1'003'333});
  CHECK_FALSE(times.rounded());
  CHECK(times.at(0.5)->value == Duration{1'003'333});
  times.add_unfinished(Duration{7});
  CHECK(times.rounded());
  CHECK(times.at(0.5)->value == Duration{1'003'008});  // by less than 0.1 %
  CHECK(times.at(0.5)->exact);
  CHECK_FALSE(times.at(1)->exact);
}

TEST_CASE("no percentile exceeds what it is when unfinished jobs go on, and exact ones are equal",
          "[metrics]") {
  for (std::uint64_t i = 0; i < 3000; ++i) {
    Stream random(i, "unfinished", {});
    std::vector<std::int64_t> finished, ages, all;
    for (std::uint64_t n = random.below(30); n > 0; --n)
      finished.push_back(static_cast<std::int64_t>(random.below(40)));
    for (std::uint64_t n = random.below(6); n > 0; --n)
      ages.push_back(static_cast<std::int64_t>(random.below(40)));
    all = finished;
    for (const std::int64_t age : ages) all.push_back(age + static_cast<std::int64_t>(random.below(30)));
    if (all.empty()) continue;
    std::sort(all.begin(), all.end());
    for (const double share : {0.1, 0.5, 0.9, 0.99}) {
      const auto told = *of(finished, ages).at(share);
      const std::int64_t in_the_end =
          all[static_cast<std::size_t>(rank_of(share, static_cast<std::int64_t>(all.size()))) - 1];
      REQUIRE(told.value.ns <= in_the_end);
      if (told.exact) REQUIRE(told.value.ns == in_the_end);
    }
  }
}

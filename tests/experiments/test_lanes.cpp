// Spans on tracks.
#include <random>
#include <vector>

#include "experiments/timelines/lanes.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

Time at(std::int64_t ns) { return Time{} + Duration{ns}; }

TEST_CASE("Spans that overlap come to different lanes, and the first free one is taken") {
  Lanes lanes;
  CHECK(lanes.place(at(0), at(10)) == 0);
  CHECK(lanes.place(at(2), at(4)) == 1);
  CHECK(lanes.place(at(4), at(12)) == 1);
  CHECK(lanes.place(at(10), at(11)) == 0);
  CHECK(lanes.place(at(10), at(11)) == 2);
}

TEST_CASE("Nested spans share a lane, crossing ones do not") {
  Lanes lanes;
  CHECK(lanes.nest(at(0), at(10)) == 0);
  CHECK(lanes.nest(at(0), at(10)) == 0);
  CHECK(lanes.nest(at(2), at(10)) == 0);
  CHECK(lanes.nest(at(3), at(11)) == 1);
  CHECK(lanes.nest(at(4), at(5)) == 0);
  CHECK(lanes.nest(at(6), at(12)) == 2);
  CHECK(lanes.nest(at(10), at(20)) == 0);
}

TEST_CASE("A lane that was opened is taken until it is closed") {
  Lanes lanes;
  CHECK(lanes.open(at(0)) == 0);
  CHECK(lanes.open(at(5)) == 1);
  lanes.close(0, at(7));
  CHECK(lanes.open(at(7)) == 0);
  CHECK(lanes.open(at(8)) == 2);
}

TEST_CASE("No two of many random spans overlap on a lane") {
  std::mt19937 random(1);
  Lanes flat;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> taken;
  std::int64_t begin = 0;
  for (int i = 0; i < 2000; ++i) {
    begin += static_cast<std::int64_t>(random() % 4);
    const std::int64_t end = begin + 1 + static_cast<std::int64_t>(random() % 20);
    const std::size_t lane = flat.place(at(begin), at(end));
    if (lane >= taken.size()) taken.resize(lane + 1);
    for (const auto& [from, to] : taken[lane]) CHECK((to <= begin || end <= from));
    taken[lane].emplace_back(begin, end);
  }
  CHECK(taken.size() > 5);
}

}  // namespace
}  // namespace gangway

#include <vector>

#include "hw/live/alone_times.hpp"
#include "tests/catch.hpp"

namespace gangway::live {
namespace {

using Times = std::vector<LiveClient::JobTimes>;

TEST_CASE("Few jobs alone are averaged", "[live]") {
  const Times one{{100, 110, 350}};
  CHECK(alone_times(one, true).job == Duration{250});
  CHECK(alone_times(one, true).between_ends == Duration{250});
  // They come at 0, 100 and 700; the second one has to wait for the first one's end.
  const Times three{{0, 0, 200}, {100, 200, 500}, {700, 700, 800}};
  CHECK(alone_times(three, false).job == Duration{200});
  CHECK(alone_times(three, false).between_ends == Duration{200});
  CHECK(alone_times(three, true).between_ends == Duration{300});
}

// 100 jobs of 10 each, one behind the other with 5 in between; the 30th is held up for a second.
TEST_CASE("A pause of the machine does not make jobs alone longer", "[live]") {
  Times times;
  std::int64_t now = 0;
  for (int j = 0; j < 100; ++j) {
    const std::int64_t arrived = now + 5;
    now = arrived + 10 + (j == 30 ? 1'000'000'000 : 0);
    times.push_back({arrived, arrived, now});
  }
  CHECK(alone_times(times, true).job == Duration{10});
  CHECK(alone_times(times, true).between_ends == Duration{15});
}

TEST_CASE("Jobs alone of several lengths keep their mean", "[live]") {
  Times times;
  std::int64_t now = 0;
  for (int j = 0; j < 1000; ++j) {
    const std::int64_t arrived = now;
    now += 100 + 50 * (j % 5);
    times.push_back({arrived, arrived, now});
  }
  CHECK(alone_times(times, true).job == Duration{200});
}

}  // namespace
}  // namespace gangway::live

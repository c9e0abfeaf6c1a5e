#include "hw/intercept/forms/looks.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {

using intercept::kNobodyLooks;
using intercept::looks;

TEST_CASE("blocks look about every 2 us, at most eight in a wave", "[live]") {
  CHECK(looks(10, 1'000'000, 0) == 255);       // 200 blocks apart: the nearest is 256
  CHECK(looks(13.4, 5'280'000, 1056) == 127);  // 149: the nearest is 128
  CHECK(looks(100, 100'000, 1056) == 127);     // 20 by time, but 132 by waves
  CHECK(looks(5'000, 1'000, 0) == 0);          // each block
  CHECK(looks(10, 49'999, 0) == kNobodyLooks);
  CHECK(looks(0, 1'000'000, 1056) == kNobodyLooks);
}

}  // namespace gangway::testing

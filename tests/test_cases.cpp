// How random cases are split into shards.
#include <vector>

#include "tests/cases.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

TEST_CASE("shards play every case once") {
  for (const int all : {0, 1, 7, 600, 1'000'000})
    for (const int parts : {1, 2, 7, 32, 1000}) {
      int next = 0;
      for (int index = 0; index < parts; ++index) {
        const CaseNumbers part = part_of(all, index, parts);
        CHECK(*part.begin() == next);
        CHECK(std::abs(part.size() - all / parts) <= 1);
        next += part.size();
      }
      CHECK(next == all);
    }
  std::vector<int> played;
  for (const int number : part_of(10, "2/3")) played.push_back(number);
  CHECK(played == std::vector{3, 4, 5});
}

TEST_CASE("a shard that is none is refused") {
  for (const char* shard : {"", "1", "0/8", "9/8", "1/0", "-1/8", "1/8 ", "x/8", "1/-8", "99999999999/8"}) {
    INFO(shard);
    CHECK_THROWS_AS(part_of(100, shard), std::invalid_argument);
  }
}

}  // namespace
}  // namespace gangway::testing

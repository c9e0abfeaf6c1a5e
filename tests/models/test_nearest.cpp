// Suggestions for misspelt names.
#include "models/nearest.hpp"
#include "tests/catch.hpp"

using namespace gangway;

TEST_CASE("a name with a typing error, or its beginning, is suggested") {
  CHECK(nearest("sjff", {"fcfs", "sjf", "srt"}) == "sjf");
  CHECK(nearest("sfj", {"fcfs", "sjf", "srt"}) == "sjf");
  CHECK(nearest("VB", {"VA", "BLOCKS"}) == "VA");
  CHECK(nearest("permutated", {"permuted", "listed"}) == "permuted");
  CHECK(nearest("uunifast", {"randfixedsum", "uunifast-discard"}) == "uunifast-discard");
}

TEST_CASE("nothing is suggested for a name unlike all others") {
  CHECK(nearest("mars", {"cuda", "host", "live", "sim"}).empty());
  CHECK(nearest("foo", {"run", "frs"}).empty());
  CHECK(nearest("r", {"p", "q"}).empty());
  CHECK(nearest("nofile.yaml", {"bounds/map"}).empty());
  CHECK(nearest("rr", {}).empty());
}

TEST_CASE("expected names come with a suggestion only where one is near") {
  CHECK(expected_names("sjff", {"sjf", "srt"}) == "one of sjf, srt (did you mean 'sjf'?)");
  CHECK(expected_names("mars", {"host", "sim"}) == "one of host, sim");
}

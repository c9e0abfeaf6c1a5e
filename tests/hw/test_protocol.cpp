#include "hw/protocol.hpp"
#include "tests/catch.hpp"

using namespace gangway;

namespace {

constexpr ControlWord word(std::uint32_t flag, std::uint32_t taken) {
  return static_cast<ControlWord>(flag) << 32 | taken;
}

constexpr LaunchTask kTask{.launch = 5, .first = 100, .last = 110, .blocks = 3};

}  // namespace

TEST_CASE("claims hand out the range from its beginning") {
  CHECK(claim_of(word(0, 0), kTask).run);
  CHECK(claim_of(word(0, 0), kTask).index == 100);
  CHECK(claim_of(word(0, 9), kTask).run);
  CHECK(claim_of(word(0, 9), kTask).index == 109);
}

TEST_CASE("a claim beyond the range fails") {
  CHECK(!claim_of(word(0, 10), kTask).run);
  CHECK(!claim_of(word(0, 12), kTask).run);
}

TEST_CASE("a claim fails once the flag names the launch, and only then") {
  CHECK(!claim_of(word(5, 0), kTask).run);
  CHECK(!claim_of(word(5, 4), kTask).run);
  CHECK(claim_of(word(4, 4), kTask).run);  // a late eviction of the launch before
  CHECK(claim_of(word(4, 4), kTask).index == 104);
}

TEST_CASE("done: what was there before and the claims that did not fail") {
  // Nothing claimed: three blocks, three failures.
  CHECK(done_after(word(5, 3), kTask) == 100);
  // Four block-tasks, then each of three blocks failed once.
  CHECK(done_after(word(5, 7), kTask) == 104);
  // All ten, not evicted, or evicted too late; the flag does not matter.
  CHECK(done_after(word(0, 13), kTask) == 110);
  CHECK(done_after(word(5, 13), kTask) == 110);
  CHECK(done_after(word(4, 13), kTask) == 110);
}

TEST_CASE("the largest launch does not overflow the count") {
  constexpr LaunchTask task{
      .launch = 1, .first = 0, .last = kMostBlockTasks - 1, .blocks = kMostBlockTasks - 1};
  const ControlWord end = word(0, task.last) + task.blocks;
  CHECK(end >> 32 == 0);
  CHECK(done_after(end, task) == task.last);
  CHECK(!claim_of(end, task).run);
}

TEST_CASE("an addition to the count leaves the flag as it is") {
  const ControlWord after = word(5, 12) + 1;
  CHECK(after >> 32 == 5);
  CHECK(static_cast<std::uint32_t>(after) == 13);
}

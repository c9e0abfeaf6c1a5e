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
  CHECK(done_after(PollingForm::claim, word(5, 3), kTask) == 100);
  // Four block-tasks, then each of three blocks failed once.
  CHECK(done_after(PollingForm::claim, word(5, 7), kTask) == 104);
  // All ten, not evicted, or evicted too late; the flag does not matter.
  CHECK(done_after(PollingForm::claim, word(0, 13), kTask) == 110);
  CHECK(done_after(PollingForm::claim, word(5, 13), kTask) == 110);
  CHECK(done_after(PollingForm::claim, word(4, 13), kTask) == 110);
}

TEST_CASE("done where the flag is a word apart: the claims within the range") {
  for (const PollingForm form : {PollingForm::host, PollingForm::proxy}) {
    // Three blocks saw the flag before their first claims.
    CHECK(done_after(form, word(0, 0), kTask) == 100);
    // Seven claims, none of them failed: all three saw the flag then.
    CHECK(done_after(form, word(0, 7), kTask) == 107);
    // All ten, and as many failed claims as blocks that did not see it.
    CHECK(done_after(form, word(0, 10), kTask) == 110);
    CHECK(done_after(form, word(0, 12), kTask) == 110);
  }
  // Blocks of the original kernel claim nothing.
  CHECK(done_after(PollingForm::none, word(0, 0), kTask) == 110);
}

TEST_CASE("looks are so many block-tasks apart as fit into their interval, by the mean of the samples") {
  const TaskSamples two = sample_of(1'000) + sample_of(3'000);  // 2 us on average
  CHECK(tasks_between_looks(100'000, two) == 50);
  CHECK(tasks_between_looks(101'999, two) == 50);
  CHECK(tasks_between_looks(2'000, two) == 1);
  CHECK(tasks_between_looks(1, two) == 1);           // one at least
  CHECK(tasks_between_looks(7, sample_of(0)) == 7);  // too short to be seen: 1 ns
  CHECK(tasks_between_looks(~0ull, sample_of(1)) == kMostBlockTasks);
  TaskSamples full = 0;  // a large GPU's blocks, each 10 s
  for (int block = 0; block < 10'000; ++block) full += sample_of(10'000'000'000);
  CHECK(tasks_between_looks(30'000'000'000, full) == 3);
}

TEST_CASE("the largest launch does not overflow the count") {
  constexpr LaunchTask task{
      .launch = 1, .first = 0, .last = kMostBlockTasks - 1, .blocks = kMostBlockTasks - 1};
  const ControlWord end = word(0, task.last) + task.blocks;
  CHECK(end >> 32 == 0);
  CHECK(done_after(PollingForm::claim, end, task) == task.last);
  CHECK(!claim_of(end, task).run);
}

TEST_CASE("an addition to the count leaves the flag as it is") {
  const ControlWord after = word(5, 12) + 1;
  CHECK(after >> 32 == 5);
  CHECK(static_cast<std::uint32_t>(after) == 13);
}

// Which streams stand still behind a kernel that has left.
#include <map>
#include <set>
#include <utility>

#include "hw/live/held_work.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

using live::HeldWork;
using live::LaunchIs;

constexpr live::StreamId kA = 1, kB = 2, kC = 3, kLegacy = 4;
constexpr std::uint64_t kContext = 9;

struct HeldStage {
  std::map<std::pair<live::StreamId, std::uint32_t>, LaunchIs> launches;
  std::set<HeldWork::Mark> reached, given_back;
  std::set<live::StreamId> gone;
  int marks[8] = {};
  HeldWork held{{[this](live::StreamId stream, std::uint32_t number) {
                   return launches.at({stream, number});
                 },
                 [this](HeldWork::Mark mark) { return reached.count(mark) != 0; },
                 [this](HeldWork::Mark mark) { given_back.insert(mark); },
                 [this](live::StreamId stream) { gone.insert(stream); }}};

  void launch(live::StreamId stream, std::uint32_t number, HeldWork::Kind kind = HeldWork::Kind::apart) {
    held.submits(stream, kContext, kind);
    launches[{stream, number}] = LaunchIs::under_way;
    held.launched(stream, number);
  }
  void submit(live::StreamId stream, HeldWork::Kind kind = HeldWork::Kind::apart) {
    held.submits(stream, kContext, kind);
  }
};

}  // namespace

TEST_CASE("a stream stands still once its launch has left, and goes on when that is over") {
  HeldStage stage;
  CHECK_FALSE(stage.held.stands_still(kA));
  stage.launch(kA, 1);
  stage.submit(kA);
  stage.submit(kA);
  CHECK_FALSE(stage.held.stands_still(kA));
  CHECK(stage.held.behind(kA) == 4);  // an event and the wait for the launch, and two submissions
  stage.launches[{kA, 1}] = LaunchIs::left;
  CHECK(stage.held.stands_still(kA));
  stage.launch(kA, 2);  // behind the one that has left
  CHECK(stage.held.stands_still(kA));
  stage.launches[{kA, 1}] = LaunchIs::over;
  CHECK_FALSE(stage.held.stands_still(kA));
  CHECK(stage.held.behind(kA) == 2);
  stage.launches[{kA, 2}] = LaunchIs::over;
  CHECK_FALSE(stage.held.stands_still(kA));
  CHECK_FALSE(stage.held.is_held(kA));
}

TEST_CASE("nothing is held of a context that goes, and the marks of its waits are given back") {
  HeldStage stage;
  stage.launch(kA, 1);
  stage.held.recorded(7, kA);
  stage.submit(kB);
  stage.held.waits(kB, 7, &stage.marks[0]);
  CHECK(stage.held.is_held(kB));
  stage.held.forget_all_of(kContext + 1);
  CHECK(stage.held.is_held(kB));
  stage.held.forget_all_of(kContext);
  CHECK_FALSE(stage.held.is_held(kA));
  CHECK_FALSE(stage.held.is_held(kB));
  CHECK(stage.given_back == std::set<HeldWork::Mark>{&stage.marks[0]});
  CHECK_FALSE(stage.held.held(7));
}

TEST_CASE("a stream that waits for an event behind a launch stands still when all before the wait is over") {
  HeldStage stage;
  stage.launch(kA, 1);
  stage.held.recorded(70, kA);
  CHECK(stage.held.held(70));
  CHECK_FALSE(stage.held.held(71));
  stage.submit(kB);
  stage.held.waits(kB, 70, &stage.marks[0]);
  stage.submit(kB);
  stage.held.recorded(71, kB);
  stage.held.waits(kC, 71, &stage.marks[1]);  // and one that waits for that one
  stage.submit(kC);
  for (const auto stream : {kA, kB, kC}) CHECK(stage.held.is_held(stream));
  stage.launches[{kA, 1}] = LaunchIs::left;
  CHECK_FALSE(stage.held.stands_still(kB));  // what was submitted before the wait may run
  CHECK_FALSE(stage.held.stands_still(kC));
  stage.reached.insert(&stage.marks[1]);
  CHECK_FALSE(stage.held.stands_still(kC));
  stage.reached.insert(&stage.marks[0]);
  CHECK(stage.held.stands_still(kB));
  CHECK(stage.held.stands_still(kC));
  stage.launches[{kA, 1}] = LaunchIs::over;
  CHECK_FALSE(stage.held.stands_still(kB));
  CHECK_FALSE(stage.held.stands_still(kC));
  CHECK(stage.given_back == std::set<HeldWork::Mark>{&stage.marks[0], &stage.marks[1]});
  CHECK_FALSE(stage.held.held(70));
}

TEST_CASE("an event that is recorded again is no longer behind a launch") {
  HeldStage stage;
  stage.launch(kA, 1);
  stage.held.recorded(70, kA);
  stage.submit(kB);
  stage.held.recorded(70, kB);
  CHECK_FALSE(stage.held.held(70));
}

TEST_CASE("legacy and blocking streams stand still together, others go on") {
  HeldStage stage;
  stage.submit(kLegacy, HeldWork::Kind::legacy);
  stage.launch(kA, 1, HeldWork::Kind::blocking);
  stage.launches[{kA, 1}] = LaunchIs::left;
  CHECK_FALSE(stage.held.stands_still(kLegacy));
  stage.submit(kLegacy, HeldWork::Kind::legacy);
  CHECK(stage.held.stands_still(kLegacy));
  stage.submit(kC);
  CHECK_FALSE(stage.held.stands_still(kC));
  stage.submit(kB, HeldWork::Kind::blocking);  // behind the legacy stream's submission
  CHECK(stage.held.stands_still(kB));
  stage.launches[{kA, 1}] = LaunchIs::over;
  for (const live::StreamId stream : {kA, kB, kLegacy}) CHECK_FALSE(stage.held.stands_still(stream));
}

TEST_CASE("what a destroyed stream left behind is asked about until it is over") {
  HeldStage stage;
  CHECK_FALSE(stage.held.forgotten_stand_still());
  stage.launch(kA, 1);
  stage.held.forget(kA);
  CHECK_FALSE(stage.held.forgotten_stand_still());
  stage.launches[{kA, 1}] = LaunchIs::left;
  CHECK(stage.held.forgotten_stand_still());
  CHECK(stage.gone.empty());
  stage.launches[{kA, 1}] = LaunchIs::over;
  CHECK_FALSE(stage.held.forgotten_stand_still());
  CHECK(stage.gone == std::set<live::StreamId>{kA});
}

}  // namespace gangway::testing

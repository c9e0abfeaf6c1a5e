#include "hw/record/overhead.hpp"
#include "models/recording/jobs.hpp"
#include "tests/catch.hpp"
#include "tests/models/recording/made_recording.hpp"

using namespace gangway;
using namespace gangway::recording;
using gangway::testing::MadeRecording;

namespace {

// Three jobs of the given lengths, from `begin` on, with a query by chance in between.
MadeRecording jobs_of(std::int64_t begin, std::vector<std::int64_t> lengths, bool query) {
  MadeRecording m;
  const Index s = m.stream();
  for (const std::int64_t length : lengths) {
    m.kernel(s, begin, begin + 10, 20);
    if (query) m.call(0, CallKind::query, begin + 6, 1);
    m.wait(OrderKind::stream, s, begin + 10, length - 10);
    begin += 1000;
  }
  cut_jobs(m.r, {});
  return m;
}

}  // namespace

TEST_CASE("jobs with and without being recorded are matched by their calls") {
  const MadeRecording with = jobs_of(0, {110, 220, 130}, true);
  MadeRecording without = jobs_of(700, {100, 200, 120}, false);
  without.r.works.clear();
  without.r.jobs.clear();
  const auto times = spool::compare_jobs(with.r, without.r);
  REQUIRE(times);
  CHECK(times->recorded == Duration{130});
  CHECK(times->calls_only == Duration{120});
}

TEST_CASE("runs that called something else are not compared") {
  const MadeRecording with = jobs_of(0, {110, 220}, true);
  CHECK_FALSE(spool::compare_jobs(with.r, jobs_of(0, {110, 220, 330}, true).r));
  MadeRecording other = jobs_of(0, {110, 220}, true);
  other.r.calls[0].function = static_cast<Index>(CallKind::memset);
  CHECK_FALSE(spool::compare_jobs(with.r, other.r));
  MadeRecording none;
  CHECK_FALSE(spool::compare_jobs(none.r, none.r));
}

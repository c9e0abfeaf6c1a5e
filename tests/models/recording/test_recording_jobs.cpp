// Jobs worked out by hand.
#include "models/error.hpp"
#include "models/recording/file.hpp"
#include "models/recording/jobs.hpp"
#include "tests/catch.hpp"
#include "tests/models/recording/made_recording.hpp"

using namespace gangway;
using namespace gangway::recording;
using gangway::testing::MadeRecording;

namespace {

// (begin, length) of each job.
std::vector<std::pair<std::int64_t, std::int64_t>> cut(Recording& r, const std::string& rule,
                                                       std::uint32_t skip = 0) {
  JobRule read = read_job_rule(rule);
  read.skip = skip;
  cut_jobs(r, read);
  check_recording(r, "made");
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const Job& job : r.jobs) out.emplace_back(job.begin.ns, job.length.ns);
  return out;
}

std::vector<Index> jobs_of_calls(const Recording& r) {
  std::vector<Index> out;
  for (const Call& call : r.calls) out.push_back(call.job);
  return out;
}

using Jobs = std::vector<std::pair<std::int64_t, std::int64_t>>;

}  // namespace

TEST_CASE("a job ends with the call that waits for its stream") {
  MadeRecording m;
  const Index s = m.stream();
  m.call(0, CallKind::other, 0, 50);
  m.kernel(s, 100, 110, 30);
  m.kernel(s, 106, 140, 30);
  m.wait(OrderKind::stream, s, 120, 60);
  m.kernel(s, 200, 210, 30);
  m.wait(OrderKind::context, 0, 206, 40);
  m.kernel(s, 300, 310, 10);  // nobody waits for it
  CHECK(cut(m.r, "sync") == Jobs{{100, 80}, {200, 46}});
  CHECK(jobs_of_calls(m.r) == std::vector<Index>{kNone, 0, 0, 0, 1, 1, kNone});
}

TEST_CASE("a call that leaves another stream outstanding ends no job") {
  MadeRecording m;
  const Index a = m.stream(), b = m.stream();
  m.kernel(a, 0, 10, 30);
  m.kernel(b, 6, 10, 30);
  m.wait(OrderKind::stream, a, 20, 30);
  m.wait(OrderKind::stream, b, 60, 30);
  CHECK(cut(m.r, "sync") == Jobs{{0, 90}});
}

TEST_CASE("what a stream waited for is over when it is") {
  MadeRecording m;
  const Index a = m.stream(), b = m.stream();
  m.kernel(a, 0, 10, 30);
  const Index event = m.record(a, 6);
  m.wait_event(b, event, 8);
  m.kernel(b, 10, 40, 30);
  SECTION("and nothing came after") {
    m.wait(OrderKind::stream, b, 20, 60);
    CHECK(cut(m.r, "sync") == Jobs{{0, 80}});
  }
  SECTION("but not what came behind the event") {
    m.kernel(a, 16, 70, 30);
    m.wait(OrderKind::stream, b, 25, 60);
    CHECK(cut(m.r, "sync").empty());
  }
}

TEST_CASE("an event covers what stood before it") {
  MadeRecording m;
  const Index s = m.stream();
  m.kernel(s, 0, 10, 30);
  const Index early = m.record(s, 6);
  m.kernel(s, 10, 40, 30);
  m.wait(OrderKind::event, early, 20, 22);
  const Index late = m.record(s, 50);
  m.wait(OrderKind::event, late, 52, 30);
  m.kernel(s, 100, 110, 5);
  m.wait(OrderKind::event, kNone, 110, 10);  // recorded nobody knows when
  CHECK(cut(m.r, "sync") == Jobs{{0, 82}});
}

TEST_CASE("the null stream and those that block wait for each other") {
  MadeRecording m;
  const Index null = m.stream(StreamKind::null), blocking = m.stream(StreamKind::blocking), free = m.stream();
  m.kernel(blocking, 0, 10, 30);
  m.kernel(null, 6, 40, 30);
  m.wait(OrderKind::stream, null, 20, 60);
  m.kernel(null, 100, 110, 5);
  m.kernel(blocking, 106, 116, 5);
  m.wait(OrderKind::stream, blocking, 120, 10);
  m.kernel(free, 200, 210, 5);
  m.kernel(null, 206, 216, 5);
  m.wait(OrderKind::stream, null, 220, 10);
  m.wait(OrderKind::stream, free, 240, 10);
  CHECK(cut(m.r, "sync") == Jobs{{0, 80}, {100, 30}, {200, 50}});
}

TEST_CASE("copies that the host waits for end a job, if they come from the GPU") {
  MadeRecording m;
  const Index s = m.stream(StreamKind::null);
  m.copy(s, 0, 5, 20, {Bytes{100}, MemoryKind::pageable, MemoryKind::device, false});
  m.kernel(s, 40, 50, 30);
  m.copy(s, 50, 80, 20, {Bytes{100}, MemoryKind::device, MemoryKind::pinned, true});
  m.copy(s, 60, 100, 20, {Bytes{100}, MemoryKind::device, MemoryKind::pinned, false});
  m.copy(s, 200, 205, 20, {Bytes{100}, MemoryKind::device, MemoryKind::pageable, true});
  CHECK(cut(m.r, "sync") == Jobs{{0, 90}, {200, 5}});
}

TEST_CASE("threads have jobs of their own, numbered by their beginning") {
  MadeRecording m;
  const Index other = m.thread();
  const Index a = m.stream(), b = m.stream();
  m.kernel(a, 0, 10, 30);
  m.kernel(b, 2, 10, 10, other);
  m.wait(OrderKind::stream, b, 8, 20, other);
  m.kernel(b, 30, 40, 10, other);
  m.wait(OrderKind::stream, a, 31, 20);
  m.wait(OrderKind::stream, b, 40, 20, other);
  CHECK(cut(m.r, "sync", 1) == Jobs{{0, 51}, {2, 26}, {30, 30}});
  CHECK(jobs_of_calls(m.r) == std::vector<Index>{0, 1, 1, 2, 0, 2});
  CHECK(m.r.jobs[0].warm_up);
  CHECK_FALSE(m.r.jobs[1].warm_up);
  cut(m.r, "sync", 99);
  CHECK(m.r.about.skip == 3);
}

TEST_CASE("a thread that never waits works for one that does") {
  MadeRecording m;
  const Index helper = m.thread();
  const Index s = m.stream();
  m.kernel(s, 0, 10, 30);
  m.kernel(s, 10, 40, 30, helper);
  m.wait(OrderKind::stream, s, 20, 60);
  m.kernel(s, 90, 95, 6, helper);  // between two jobs
  m.kernel(s, 100, 120, 30);
  m.kernel(s, 110, 150, 30, helper);
  m.wait(OrderKind::context, 0, 120, 80);
  m.kernel(s, 300, 310, 50'000'000, helper);  // behind the last one
  CHECK(cut(m.r, "sync") == Jobs{{0, 80}, {100, 100}});
  CHECK(jobs_of_calls(m.r) == std::vector<Index>{0, 0, 0, kNone, 1, 1, 1, kNone});
}

TEST_CASE(
    "a thread that never waits is cut by device time where much of its work is not within others' jobs") {
  MadeRecording m;
  const Index other = m.thread();
  const Index a = m.stream(), b = m.stream();
  m.kernel(a, 0, 10, 30);
  m.kernel(b, 10, 40, 12'000'000, other);
  m.wait(OrderKind::stream, a, 20, 60);
  m.kernel(b, 90, 12'000'040, 12'000'000, other);
  m.kernel(a, 100, 110, 30);
  m.wait(OrderKind::stream, a, 120, 60);
  CHECK(cut(m.r, "sync") == Jobs{{0, 80}, {10, 12'000'030}, {90, 23'999'950}, {100, 80}});
  CHECK(jobs_of_calls(m.r) == std::vector<Index>{0, 1, 0, 2, 3, 3});
}

TEST_CASE("a thread that never synchronises is cut after 10 ms of device time") {
  MadeRecording m;
  const Index s = m.stream();
  for (int k = 0; k < 7; ++k) m.kernel(s, 100 * k, 1000 + 4'000'000 * k, 4'000'000);
  CHECK(cut(m.r, "sync") == Jobs{{0, 12'001'000}, {300, 24'000'700}});
  CHECK(m.r.jobs[0].kind == JobKind::cut);
  CHECK(m.r.calls[6].job == kNone);
}

TEST_CASE("ranges hold the calls of their thread and of threads without one") {
  MadeRecording m;
  const Index other = m.thread(), helper = m.thread();
  const Index s = m.stream();
  m.r.range_names = {{"", "step"}, {"mine", "step"}, {"", "else"}};
  m.r.ranges = {{0, 0, Time{0}, Duration{100}},
                {2, 0, Time{5}, Duration{500}},
                {0, other, Time{50}, Duration{100}},
                {1, 0, Time{200}, Duration{50}},
                {0, 0, Time{300}, std::nullopt}};
  m.kernel(s, 10, 20, 5);
  m.kernel(s, 20, 30, 5, helper);
  m.kernel(s, 60, 70, 5, other);
  m.kernel(s, 70, 80, 5);
  m.kernel(s, 110, 120, 5, helper);
  m.kernel(s, 160, 170, 5);
  m.kernel(s, 210, 220, 5);
  CHECK(cut(m.r, "nvtx:step") == Jobs{{0, 100}, {50, 100}, {200, 50}});
  CHECK(jobs_of_calls(m.r) == std::vector<Index>{0, 0, 1, 0, 1, kNone, 2});
  CHECK(cut(m.r, "nvtx:mine/step") == Jobs{{200, 50}});
  CHECK(cut(m.r, "nvtx:nothing").empty());
  CHECK(cut(m.r, "nvtx:st*") == Jobs{{0, 100}, {50, 100}, {200, 50}});
  CHECK(cut(m.r, "nvtx:mine/s*") == Jobs{{200, 50}});
  CHECK(cut(m.r, "nvtx:t*p").empty());
}

TEST_CASE("calls between the ranges of their own thread are no other thread's") {
  MadeRecording m;
  const Index other = m.thread();
  const Index s = m.stream();
  m.r.range_names = {{"", "request"}};
  m.r.ranges = {
      {0, 0, Time{0}, Duration{100}}, {0, other, Time{10}, Duration{20}}, {0, other, Time{50}, Duration{20}}};
  m.kernel(s, 5, 8, 5);
  m.kernel(s, 15, 18, 5, other);
  m.kernel(s, 40, 43, 5, other);
  m.kernel(s, 55, 58, 5, other);
  cut(m.r, "nvtx:request");
  CHECK(jobs_of_calls(m.r) == std::vector<Index>{0, 1, kNone, 2});
}

TEST_CASE("of ranges within each other the outermost is a job") {
  MadeRecording m;
  const Index other = m.thread();
  m.r.range_names = {{"", "step"}, {"", "step/forward"}, {"a/b", "step"}};
  m.r.ranges = {{0, 0, Time{0}, Duration{100}},     {1, 0, Time{10}, Duration{50}},
                {1, other, Time{20}, Duration{20}}, {1, 0, Time{70}, Duration{30}},
                {1, 0, Time{200}, Duration{10}},    {0, 0, Time{200}, Duration{100}},
                {0, 0, Time{290}, Duration{20}},    {2, 0, Time{400}, Duration{5}}};
  CHECK(cut(m.r, "nvtx:step*") == Jobs{{0, 100}, {20, 20}, {200, 100}, {290, 20}, {400, 5}});
  CHECK(cut(m.r, "nvtx:step/*") == Jobs{{10, 50}, {20, 20}, {70, 30}, {200, 10}});
  CHECK(cut(m.r, "nvtx:a/b/step") == Jobs{{400, 5}});
}

TEST_CASE("the whole program is one job") {
  MadeRecording m;
  const Index s = m.stream();
  m.call(0, CallKind::other, 0, 50);
  m.kernel(s, 100, 110, 30);
  m.wait(OrderKind::stream, s, 120, 30);
  m.kernel(s, 200, 210, 500);
  CHECK(cut(m.r, "whole") == Jobs{{100, 610}});
  CHECK(jobs_of_calls(m.r) == std::vector<Index>{kNone, 0, 0, 0});
  MadeRecording idle;
  CHECK(cut(idle.r, "whole").empty());
}

TEST_CASE("rules that are none are refused") {
  for (const char* text : {"", "nvtx", "nvtx:", "Sync", "sync "})
    CHECK_THROWS_AS(read_job_rule(text), InputError);
  CHECK(to_text(read_job_rule("nvtx:a:b")) == "nvtx:a:b");
}

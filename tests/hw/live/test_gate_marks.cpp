// Events behind submissions: none is forgotten when there are many, and none outlives its context.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "hw/live/gate.hpp"
#include "hw/live/gate_marks.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/gated_process.hpp"

namespace gangway::live {
namespace {

// Its events belong to a context, as the driver's do. To use one of a context that is gone is a crash.
class DriverOfContexts : public testing::FakeDriver {
 public:
  std::uint64_t context(const StreamName& stream) override { return stream.handle / 1000; }
  bool record(const StreamName& stream, Event& event) override {
    if (event != nullptr) use(event);
    if (refuses) return false;
    if (!FakeDriver::record(stream, event)) return false;
    of_[event] = stream.context != 0 ? stream.context : context(stream);
    return true;
  }
  bool reached(Event event, bool captures) override {
    use(event);
    return FakeDriver::reached(event, captures);
  }
  void end(std::uint64_t context) {
    for (const auto& [event, its] : of_)
      if (its == context) gone_.insert(event);
  }
  int crashes = 0;
  bool refuses = false;  // to record events

 private:
  void use(Event event) { crashes += gone_.count(event) != 0 ? 1 : 0; }
  std::map<Event, std::uint64_t> of_;
  std::set<Event> gone_;
};

// It keeps threads that ask about events, or about streams, as in a process that is checkpointed.
class DriverThatKeeps : public testing::FakeDriver {
 public:
  bool reached(Event event, bool captures) override {
    ++asked_about_events;
    keep(keeps_events);
    return FakeDriver::reached(event, captures);
  }
  bool idle(const StreamName& stream) override {
    keep(keeps_streams);
    return FakeDriver::idle(stream);
  }
  std::atomic<bool> keeps_events{false}, keeps_streams{false}, kept{false};
  std::atomic<int> asked_about_events{0};

 private:
  void keep(const std::atomic<bool>& while_so) {
    while (while_so) {
      kept = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

struct MarkedStage {
  DriverOfContexts driver;
  testing::FakeSource source;
  Gate gate{driver, source};
  MarkedStage() { source.permit.allowed = kUnlimited; }
  void submit(const StreamName& stream) {
    const Submission submission{&stream, false};
    const Pass pass = gate.enter(submission);
    driver.submit(stream);
    gate.leave(pass, submission, true);
  }
  // While it is destroyed, another thread looks.
  void end_context(std::uint64_t context) {
    Gate::ContextEnd end(gate, context);
    driver.end(context);
    gate.look();
    end.gone();
  }
  std::uint64_t outstanding() {
    gate.look();
    return gate.page()->outstanding();
  }
};

// Until its submissions are seen to end in quick succession, so that not each has an event.
void hurry(MarkedStage& stage) {
  const StreamName stream{1000, 0};
  const auto events_of = [&](int submissions) {
    const int before = stage.driver.marks;
    for (int n = 0; n < submissions; ++n) {
      stage.submit(stream);
      stage.driver.finish(stream);
    }
    return stage.driver.marks - before;
  };
  REQUIRE(testing::soon([&] {
    events_of(200);
    stage.gate.look();
    return events_of(2) < 2;
  }));
  REQUIRE(stage.gate.look());
}

TEST_CASE("There is one event for a group of submissions in flight, at most half of them") {
  const auto [limit, group] = GENERATE(table<std::uint32_t, int>({{4, 2}, {6, 3}, {8, 4}, {16, 8}, {64, 8}}));
  MarkedStage stage;
  stage.source.permit.allowed = limit;
  hurry(stage);
  std::vector<int> submissions;  // between events
  for (int n = 0, last = 0, before = stage.driver.marks; n < 10 * group; ++n) {
    stage.submit({1000, 0});
    stage.driver.finish({1000, 0});
    if (stage.driver.marks == before) continue;
    before = stage.driver.marks;
    submissions.push_back(n - last);
    last = n;
  }
  // The machine may be busy, and the ends seem slow.
  CHECK(*std::max_element(submissions.begin() + 1, submissions.end()) == group);
  CHECK(stage.gate.look());
}

TEST_CASE("Each submission has an event if few may be in flight, or if they end slowly") {
  const auto limit = GENERATE(1U, 2U, 3U, 8U);
  MarkedStage stage;
  stage.source.permit.allowed = limit;
  if (limit == 8) hurry(stage);
  for (int n = 0; n < 24; ++n) {
    if (n == 16) stage.driver.marks = 0;
    stage.submit({1000, 0});
    if (limit == 8) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stage.driver.finish({1000, 0});
  }
  CHECK(stage.driver.marks == 8);
}

TEST_CASE("Kernels that become long are no more in flight, although the ends of some are not seen",
          "[threads]") {
  MarkedStage stage;
  stage.source.permit.allowed = 8;
  hurry(stage);
  std::atomic<bool> stop{false};
  std::uint64_t most = 0;
  std::thread device([&] {
    for (; !stop; std::this_thread::sleep_for(std::chrono::milliseconds(40)))
      if (stage.driver.in_flight() > 0) stage.driver.finish({1000, 0}, 1);
  });
  for (int n = 0; n < 20; ++n) {
    stage.submit({1000, 0});
    most = std::max(most, stage.driver.in_flight());
  }
  stop = true;
  device.join();
  CHECK(most <= 8);
  CHECK(stage.source.client.forced.load() == 0);
}

TEST_CASE("Who waits for room learns of the ends of several streams", "[threads]") {
  MarkedStage stage;
  stage.gate.set_patience(INT64_MAX);
  stage.source.permit.allowed = 8;
  hurry(stage);
  for (const std::uint64_t stream : {1000, 1000, 1000, 2000, 2000, 2000, 3000, 3000})
    stage.submit({stream, 0});
  std::atomic<bool> in{false};
  std::thread waits([&] {
    stage.submit({4000, 0});
    in = true;
  });
  CHECK_FALSE(testing::soon_within(std::chrono::milliseconds(20), [&] { return in.load(); }));
  SECTION("in the middle of a stream") { stage.driver.finish({2000, 0}, 1); }
  SECTION("of a stream without an event") { stage.driver.finish({1000, 0}); }
  CHECK(testing::soon([&] { return in.load(); }));
  waits.join();
}

TEST_CASE("During a capture every submission in flight has an event, since streams may not be asked") {
  MarkedStage stage;
  stage.source.permit.allowed = 8;
  hurry(stage);
  for (stage.driver.marks = 0; stage.driver.marks == 0; stage.driver.finish({1000, 0}))
    stage.submit({1000, 0});
  stage.driver.marks = 0;
  stage.submit({1000, 0});
  stage.submit({1000, 0});
  CHECK(stage.driver.marks == 0);
  {
    Gate::CaptureBegin capture(stage.gate, {5000, 0});
    capture.began();
  }
  CHECK(stage.driver.marks == 1);  // behind those before
  stage.driver.set_capturing({1000, 0}, true);
  for (int n = 0; n < 3; ++n) stage.submit({2000, 0});
  CHECK(stage.driver.marks == 4);
  stage.driver.finish({1000, 0});
  stage.gate.look();
  CHECK(stage.source.client.outstanding() == 3);
  CHECK(stage.driver.queries_of_capturing() == 0);
}

TEST_CASE("A thread that the driver keeps does not keep another one that looks", "[threads]") {
  DriverThatKeeps driver;
  testing::FakeSource& source = *testing::new_source();
  Gate gate(driver, source);
  const StreamName stream{1000, 0};
  const bool marked = GENERATE(true, false);
  source.permit.allowed = marked ? 2 : kUnlimited;
  std::atomic<bool>& keeps = marked ? driver.keeps_events : driver.keeps_streams;
  const Submission submission{&stream, false};
  const Pass pass = gate.enter(submission);
  driver.submit(stream);
  gate.leave(pass, submission, true);
  keeps = true;
  std::thread asks([&] { gate.look(); });
  REQUIRE(testing::soon([&] { return driver.kept.load(); }));
  std::atomic<int> seen{-1};
  std::thread beside([&] { seen = gate.look_beside() ? 1 : 0; });
  CHECK(testing::soon([&] { return seen == 0; }));
  driver.finish(stream);
  keeps = false;
  asks.join();
  beside.join();
  CHECK(gate.look_beside());
}

TEST_CASE("Nobody asks about an event of submissions that are known to be over") {
  DriverThatKeeps driver;
  testing::FakeSource source;
  Gate gate(driver, source);
  source.permit.allowed = 2;
  const StreamName stream{1000, 0};
  const Submission submission{&stream, false};
  const Pass pass = gate.enter(submission);
  driver.submit(stream);
  gate.leave(pass, submission, true);
  REQUIRE(driver.marks == 1);
  const std::uint64_t begun = gate.before(stream);
  driver.finish(stream);
  gate.after(stream, begun);  // a call waited for the stream
  CHECK(gate.look());
  CHECK(driver.asked_about_events == 0);
}

TEST_CASE("Without an event, what a destroyed stream leaves behind is over") {
  MarkedStage stage;
  stage.submit({1000, 0});
  stage.driver.refuses = true;
  Gate::StreamEnd(stage.gate, {1000, 0}).gone();
  CHECK(stage.outstanding() == 0);
}

TEST_CASE("Any number of submissions to a thread's own stream are over once it is idle") {
  MarkedStage it;
  const StreamName own = StreamName::of_this_thread(1);
  for (int n = 0; n < 5000; ++n) it.submit(own);
  CHECK(it.outstanding() == 5000);
  it.driver.finish(own, 4000);
  CHECK(it.outstanding() >= 1000);
  it.driver.finish(own);
  CHECK(it.outstanding() == 0);
}

TEST_CASE("Streams that are destroyed with work outstanding are over once their work is") {
  MarkedStage it;
  for (std::uint64_t n = 0; n < 900; ++n) {
    const StreamName stream{1000 + n, 0};
    it.submit(stream);
    it.submit(stream);
    Gate::StreamEnd(it.gate, stream).gone();
  }
  CHECK(it.outstanding() == 1800);
  for (std::uint64_t n = 0; n < 900; ++n) it.driver.finish({1000 + n, 0});
  CHECK(it.outstanding() == 0);
}

TEST_CASE("Streams beyond the page's slots count each submission until it is over") {
  MarkedStage it;
  constexpr std::uint64_t kFirst = 10'000, kMore = 50;
  for (std::uint64_t n = 0; n < kStreams - 1 + kMore; ++n) it.submit({kFirst + n, 0});
  CHECK(it.outstanding() == kStreams - 1 + kMore);
  for (std::uint64_t n = 0; n < kStreams - 1; ++n) it.driver.finish({kFirst + n, 0});
  CHECK(it.outstanding() == kMore);
  // The latest of them is over, and no other.
  it.driver.finish({kFirst + kStreams - 1 + kMore - 1, 0});
  CHECK(it.outstanding() == kMore - 1);
  for (std::uint64_t n = 0; n < kMore; ++n) it.driver.finish({kFirst + kStreams - 1 + n, 0});
  CHECK(it.outstanding() == 0);
}

TEST_CASE("A thread that ends leaves its slot to others") {
  MarkedStage it;
  for (int n = 0; n < 1100; ++n)
    std::thread([&] {
      const StreamName own = StreamName::of_this_thread(1);
      it.submit(own);
      it.driver.finish(own);
      it.gate.look();
    }).join();
  CHECK(it.gate.page()->streams_used() < 3);
  CHECK(it.outstanding() == 0);
}

TEST_CASE("A thread whose last destructors submit leaves its slot to others, too") {
  MarkedStage it;
  struct Last {
    ~Last() {
      if (stage == nullptr) return;
      const StreamName own = StreamName::of_this_thread(1);
      stage->submit(own);
      stage->driver.finish(own);
      stage->gate.look();
    }
    MarkedStage* stage = nullptr;
  };
  for (int n = 0; n < 1100; ++n)
    std::thread([&] {
      thread_local Last last;
      last.stage = &it;  // before the first submission, so its end comes after that of what was made for it
      it.submit({7000, 0});
    }).join();
  CHECK(it.gate.page()->slots_used() == 1);
  CHECK(it.gate.page()->streams_used() < 4);
  CHECK(it.gate.page()->submissions() == 2200);
}

TEST_CASE("No event of a context that is gone is used") {
  MarkedStage it;
  it.source.permit.allowed = 4;
  const auto work = [&](std::uint64_t context) {
    for (int n = 0; n < 4; ++n) it.submit({context * 1000 + 7, 0});
  };
  work(1);
  it.driver.finish({1007, 0});
  work(2);
  it.driver.finish({2007, 0});
  it.end_context(1);
  work(1);  // a context of the same name
  CHECK(it.driver.crashes == 0);
  it.driver.finish({1007, 0});
  CHECK(it.outstanding() == 0);
  CHECK(it.driver.crashes == 0);
}

TEST_CASE("A context that stays after all keeps its marks") {
  MarkedStage it;
  const StreamName own = StreamName::of_this_thread(1);
  for (int n = 0; n < 3; ++n) it.submit(own);
  {
    const Gate::ContextEnd end(it.gate, 1);
    it.driver.finish(own);
    CHECK(it.outstanding() == 3);
  }
  CHECK(it.outstanding() == 0);
}

TEST_CASE("A context may be released twice at once, and go with the later one") {
  MarkedStage it;
  const StreamName own = StreamName::of_this_thread(1);
  it.submit(own);
  Gate::ContextEnd later(it.gate, 1);
  { const Gate::ContextEnd stays(it.gate, 1); }
  it.driver.end(1);
  CHECK(it.outstanding() == 1);
  later.gone();
  CHECK(it.driver.crashes == 0);
}

TEST_CASE("What a thread leaves behind is outstanding until it is over") {
  MarkedStage it;
  StreamName own;
  std::thread([&] {
    own = StreamName::of_this_thread(1);
    it.submit(own);
  }).join();
  CHECK(it.outstanding() == 1);
  // Its name remains, so that its kernels can be found to have left.
  CHECK(it.gate.page()->stream[0].stream.load() == (own.handle | Gate::kEnded));
  it.driver.finish(own);
  CHECK(it.outstanding() == 0);
}

TEST_CASE("A submission to the shared slot that gets no event does not stay outstanding") {
  MarkedStage it;
  for (std::uint64_t n = 0; n < kStreams - 1; ++n) it.submit({10'000 + n, 0});
  it.driver.refuses = true;
  it.submit({5'000, 0});
  CHECK(it.outstanding() == kStreams - 1);
}

TEST_CASE("A context that goes ends what is outstanding in the shared slot, of its own streams only") {
  MarkedStage it;
  for (std::uint64_t n = 0; n < kStreams - 1; ++n) it.submit({10'000'000 + 1000 * n, 0});
  for (const std::uint64_t stream : {1001, 1002, 2001}) it.submit({stream, 0});
  for (std::uint64_t n = 0; n < kStreams - 1; ++n) it.driver.finish({10'000'000 + 1000 * n, 0});
  CHECK(it.outstanding() == 3);
  it.end_context(1);
  CHECK(it.outstanding() == 1);
  it.driver.finish({2001, 0});
  CHECK(it.outstanding() == 0);
  CHECK(it.driver.crashes == 0);
}

}  // namespace
}  // namespace gangway::live

// Events behind submissions: none is forgotten when there are many, and none outlives its context.
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

TEST_CASE("Of submissions in flight, half have an event behind them that tells when they are over") {
  const auto [limit, events] =
      GENERATE(table<std::uint32_t, int>({{1, 12}, {2, 12}, {3, 12}, {4, 6}, {8, 3}, {24, 1}, {64, 0}}));
  MarkedStage stage;
  stage.source.permit.allowed = limit;
  for (int n = 0; n < 12; ++n) {
    stage.submit({1000, 0});
    stage.driver.finish({1000, 0});
  }
  CHECK(stage.driver.marks == events);
  CHECK(stage.gate.look());
}

TEST_CASE("Who waits for room learns of submissions without an event, too", "[threads]") {
  MarkedStage stage;
  stage.gate.set_patience(INT64_MAX);
  stage.source.permit.allowed = 8;
  for (const std::uint64_t stream : {1000, 1000, 1000, 2000, 2000, 3000, 3000, 3000})
    stage.submit({stream, 0});
  REQUIRE(stage.driver.marks == 0);
  std::atomic<bool> in{false};
  std::thread waits([&] {
    stage.submit({4000, 0});
    in = true;
  });
  CHECK_FALSE(testing::soon_within(std::chrono::milliseconds(20), [&] { return in.load(); }));
  stage.driver.finish({2000, 0});
  CHECK(testing::soon([&] { return in.load(); }));
  waits.join();
  // With an event that is far from over, as well.
  stage.submit({4000, 0});
  for (int n = 0; n < 3; ++n) stage.driver.finish({1000, 0});
  for (int n = 0; n < 3; ++n) stage.submit({4000, 0});
  REQUIRE(stage.driver.marks == 1);
  in = false;
  std::thread waits_again([&] {
    stage.submit({5000, 0});
    in = true;
  });
  stage.driver.finish({3000, 0});
  CHECK(testing::soon([&] { return in.load(); }));
  waits_again.join();
  CHECK(stage.source.client.forced.load() == 0);
}

TEST_CASE("During a capture every submission in flight has an event, since streams may not be asked") {
  MarkedStage stage;
  stage.source.permit.allowed = 8;
  {
    Gate::CaptureBegin capture(stage.gate, {5000, 0});
    capture.began();
  }
  for (int n = 0; n < 3; ++n) stage.submit({1000, 0});
  CHECK(stage.driver.marks == 3);
  stage.gate.capture_ended({5000, 0});
  stage.submit({1000, 0});
  CHECK(stage.driver.marks == 3);
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

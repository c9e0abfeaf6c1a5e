// The gate of one client, with a driver and a daemon that the tests play.
#include <pthread.h>
#include <time.h>

#include <chrono>
#include <deque>
#include <thread>
#include <vector>

#include "hw/live/monotonic.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/gated_process.hpp"

namespace gangway::live {
namespace {

using testing::FakeSource;
using testing::Process;
using testing::soon;

TEST_CASE("Intercepted submissions go on when their number is admitted, and no other", "[live][threads]") {
  Process process;
  process.permit(kIntercepted);
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const StreamName stream{0x1000ULL * (t + 1), 0};
      for (int i = 0; i < 100; ++i) {
        process.submit(stream);
        ++done;
      }
    });
  PermitPage& permit = process.source->permit;
  std::uint64_t admitted = 0, before = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (int i = 0; i < 20; ++i) {
      REQUIRE(soon([&] { return process.page().asked.load() > admitted; }));
      permit.admitted.store(++admitted);
      REQUIRE(soon([&] { return done.load() + 0U > before || process.page().asked.load() > admitted; }));
      before = static_cast<std::uint64_t>(done.load());
    }
    REQUIRE(soon([&] { return process.page().nobody_inside(); }));
    // Closed and intercepted again: numbers that wait are void, and nobody goes on with one.
    permit.epoch.fetch_add(1);
    permit.allowed.store(0);
    while (!process.page().nobody_inside()) std::this_thread::yield();
    const int closed = done.load();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(done.load() <= closed + 3);  // each thread may have been between its submission and the count
    permit.epoch.fetch_add(1);
    admitted = process.page().asked.load();
    permit.allowed.store(kIntercepted);
  }
  permit.epoch.fetch_add(1);
  permit.allowed.store(kUnlimited);
  for (std::thread& thread : threads) thread.join();
  CHECK(done == 300);
  CHECK(process.page().waiting.load() == 0);
}

TEST_CASE("A daemon that is gone while a gate opens for the first time leaves it as it should be",
          "[live][threads]") {
  // Its helper thread is there before the pages that come with it are in use, and sees the daemon's end.
  struct Opening : FakeSource {
    Gate* gate = nullptr;
    bool held = false;
    std::atomic<bool> acts{false};
    std::atomic<const ClientPage*> had{nullptr};
    std::thread helper;
    Pages open() override {
      helper = std::thread([this] {
        acts = true;
        held ? gate->hold() : gate->open_to_all();
        had = gate->page();
      });
      while (!acts) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the thread that opens it loses its core
      return FakeSource::open();
    }
  };
  static std::deque<Opening> sources;  // threads remember the pages
  for (const bool held : {false, true}) {
    Opening& source = sources.emplace_back();
    testing::FakeDriver driver;
    Gate gate(driver, source);
    source.gate = &gate;
    source.held = held;
    gate.introduce();
    source.helper.join();
    CHECK(gate.closed() == held);
    CHECK(&gate.permit() != &source.permit);
    CHECK(source.had == &source.client);
  }
}

TEST_CASE("The gate says since when threads can pass", "[live]") {
  Process process;
  CHECK(process.gate.open_since() == Gate::kNotOpen);
  process.permit(kUnlimited);
  process.submit(process.stream);
  PermitPage& permit = process.source->permit;
  permit.decided.store(7);
  CHECK(process.gate.open_since() == 7);
  process.permit(2);
  CHECK(process.gate.open_since() == 7);
  process.permit(1);  // one is in flight
  CHECK(process.gate.open_since() == Gate::kNotOpen);
  process.permit(0);
  CHECK(process.gate.open_since() == Gate::kNotOpen);
  process.permit(kIntercepted);
  CHECK(process.gate.open_since() == 7);
  process.page().waiting.store(1);
  CHECK(process.gate.open_since() == Gate::kNotOpen);
  process.permit(kUnlimited);
  CHECK(process.gate.open_since() == 7);
  process.page().job.store(3);
  permit.last_job.store(1);
  CHECK(process.gate.open_since() == Gate::kNotOpen);
}

TEST_CASE("No look takes a submission that fails for one that is over", "[live][threads]") {
  Process process;
  process.permit(kUnlimited);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!stop.load()) process.submit(process.stream, false);
    });
  const StreamSlot& slot = process.page().stream[0];
  for (int i = 0; i < 2'000'000; ++i) process.gate.look();
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  CHECK(slot.known.load() <= slot.begun.load());
}

TEST_CASE("No submission slips through a revocation that races it", "[live][threads]") {
  // Who revokes writes the permit, and looks who is inside: from then on the count must stand still.
  Process process;
  process.permit(kUnlimited);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> submitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const StreamName stream{0x1000ULL * (t + 1), 0};
      const Submission submission{&stream, false};
      while (!stop) {
        const Pass pass = process.gate.enter(submission);
        submitted.fetch_add(1, std::memory_order_relaxed);
        process.gate.leave(pass, submission, true);
        if (submitted.load(std::memory_order_relaxed) % 64 == 0) process.driver.finish(stream);
      }
    });
  const int tries = 100'000 / (gangway::testing::kSanitized ? 100 : 1);
  std::uint64_t slipped = 0;
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t before = submitted.load();
    process.permit(kUnlimited);
    for (int turn = 0; turn < i % 97; ++turn) std::atomic_signal_fence(std::memory_order_seq_cst);
    if (i % 50 == 0) std::this_thread::yield();
    if (i % 500 == 0) REQUIRE(soon([&] { return submitted.load() > before; }));  // on a busy machine, too
    process.permit(0);
    while (!process.page().nobody_inside()) {
    }
    const std::uint64_t closed = submitted.load();
    for (int turn = 0; turn < 50; ++turn) slipped += submitted.load() != closed ? 1 : 0;
  }
  const std::uint64_t closed = submitted.load();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(submitted.load() == closed);
  CHECK(slipped == 0);
  stop = true;
  process.permit(kUnlimited);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("A process opens its gate at its first submission, once", "[live]") {
  Process process;
  process.permit(kUnlimited);
  CHECK(process.gate.page() == nullptr);
  process.submit(process.stream);
  process.submit(process.stream);
  CHECK(process.source->opened == 1);
  CHECK(process.page().submissions() == 2);
  CHECK(process.page().outstanding() == 2);
}

TEST_CASE("A held submission rings, waits, and goes on when the permit comes", "[live][threads]") {
  Process process;
  std::thread thread([&] { process.submit(process.stream); });
  REQUIRE(soon([&] { return process.page().waiting.load() == 1; }));
  REQUIRE(soon([&] { return process.source->rings.load() == 1; }));
  CHECK(process.page().job.load() == 1);
  CHECK(process.page().nobody_inside());
  CHECK(process.driver.in_flight() == 0);
  process.permit(kUnlimited);
  thread.join();
  CHECK(process.page().held.load() == 1);
  CHECK(process.driver.in_flight() == 1);
}

TEST_CASE("Who arrives at a closed gate is seen to wait before it enters", "[live]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);
  process.gate.after();
  const auto waits = [&] {
    const Gate::Arrival arrival(process.gate);
    return process.page().waiting.load() == 1;
  };
  const std::uint64_t before = process.page().job.load();
  CHECK(!waits());
  CHECK(process.page().job.load() == before);
  process.permit(0);
  const int rings = process.source->rings;
  CHECK(waits());
  CHECK(process.source->rings > rings);
  CHECK((process.page().job.load() & 1) == 1);  // else no policy would give it a turn
  CHECK(process.page().waiting.load() == 0);
  const Gate::Nested nested;
  CHECK(!waits());
}

TEST_CASE("A held thread sleeps, but not while its gate may open at any moment", "[live][threads]") {
  Process process;
  std::thread thread([&] { process.submit(process.stream); });
  clockid_t clock{};
  REQUIRE(pthread_getcpuclockid(thread.native_handle(), &clock) == 0);
  const auto worked = [&] {
    timespec time{};
    clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  REQUIRE(soon([&] { return process.page().waiting.load() == 1; }));
  const auto asleep = [&] {
    const auto before = worked();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return worked() - before < std::chrono::milliseconds(3);
  };
  CHECK(soon(asleep));
  process.source->permit.awake.store(monotonic_ns() + 3'600'000'000'000);
  const auto before = worked();
  CHECK(soon([&] { return worked() - before > std::chrono::milliseconds(20); }));
  process.source->permit.awake.store(0);
  CHECK(soon(asleep));
  process.permit(kUnlimited);
  thread.join();
}

TEST_CASE("Held threads go on unscheduled when the daemon is gone", "[live][threads]") {
  Process process;
  std::thread thread([&] { process.submit(process.stream); });
  REQUIRE(soon([&] { return process.page().waiting.load() == 1; }));
  process.gate.open_to_all();
  thread.join();
  CHECK(process.driver.in_flight() == 1);
}

TEST_CASE("Nothing slips through while one daemon follows another", "[live][threads][long]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);  // it has a daemon
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const StreamName stream{0x1000ULL * (t + 1), 0};
      while (!stop) process.submit(stream);
    });
  std::deque<PermitPage> permits;
  for (const int turn : gangway::testing::case_numbers(1'000, 500'000)) {
    if (turn % 2 == 0) {
      process.gate.open_to_all();
      const std::uint64_t before = process.driver.in_flight();
      REQUIRE(soon([&] { return process.driver.in_flight() > before; }));
    }
    process.gate.hold();
    PermitPage& permit = permits.emplace_back();
    permit.polled.store(1);
    process.gate.obey(permit);  // closed
    REQUIRE(soon([&] { return process.page().nobody_inside(); }));
    const std::uint64_t before = process.driver.in_flight();
    CHECK(process.page().outstanding() == before);
    for (int look = 0; look < 50; ++look) std::this_thread::yield();
    REQUIRE(process.driver.in_flight() == before);
    permit.allowed.store(kUnlimited);
    REQUIRE(soon([&] { return process.driver.in_flight() > before; }));
  }
  stop = true;
  process.gate.open_to_all();
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("A call that fails, or is made inside another, counts for nothing", "[live]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream, false);
  CHECK(process.page().outstanding() == 0);
  const Submission outer{&process.stream, false}, inner{&process.stream, false};
  const Pass first = process.gate.enter(outer);
  CHECK(Gate::submission() != 0);
  const Pass second = process.gate.enter(inner);
  CHECK_FALSE(second.engaged);
  process.gate.leave(second, inner, true);
  process.driver.submit(process.stream);
  process.gate.leave(first, outer, true);
  CHECK(Gate::submission() == 0);
  CHECK(process.page().outstanding() == 1);
  CHECK(process.page().nobody_inside());
}

TEST_CASE("No more submissions are in flight than the permit says", "[live][threads]") {
  const std::uint32_t limit = GENERATE(1U, 2U, 8U);
  Process process;
  process.gate.set_patience(INT64_MAX);  // this machine may be busy
  process.permit(limit);
  std::atomic<bool> stop{false};
  std::uint64_t most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      const StreamName stream{0x1000ULL * (t + 1), 0};
      for (int i = 0; i < 300; ++i) process.submit(stream);
    });
  std::thread device([&] {
    while (!stop) {
      most = std::max(most, process.driver.in_flight());
      for (int t = 0; t < 2; ++t) process.driver.finish({0x1000ULL * (t + 1), 0});
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  device.join();
  CHECK(most <= limit);
  CHECK(most >= 1);
  CHECK(process.page().forced.load() == 0);
}

TEST_CASE("Without progress a submission goes past the limit, as others may wait for it", "[live][threads]") {
  Process process;
  process.gate.set_patience(1'000'000);
  process.permit(1);
  process.submit(process.stream);  // and it never ends
  process.submit(process.stream);
  CHECK(process.page().forced.load() == 1);
  CHECK(process.driver.in_flight() == 2);
}

TEST_CASE("Until there is progress, further submissions need not wait as long", "[live][threads]") {
  Process process;
  process.permit(1);
  process.submit(process.stream);
  const std::int64_t began = monotonic_ns();
  for (int n = 0; n < 50; ++n) process.submit(process.stream);
  CHECK(monotonic_ns() - began < 2'000'000'000);  // one of them 0.1 s
  CHECK(process.page().forced.load() == 50);
  process.driver.finish(process.stream);
  process.submit(process.stream);
  CHECK(process.page().forced.load() == 50);
}

TEST_CASE("A revoked limit holds at once, also who waits for room", "[live][threads]") {
  Process process;
  process.gate.set_patience(INT64_MAX);
  process.permit(1);
  process.submit(process.stream);
  std::thread thread([&] { process.submit(process.stream); });
  process.permit(0);
  REQUIRE(soon([&] { return process.page().waiting.load() == 1; }));
  process.driver.finish(process.stream);
  REQUIRE(soon([&] { return process.page().outstanding() == 0; }));  // the held thread has looked
  CHECK(process.driver.in_flight() == 0);
  process.permit(1);
  thread.join();
  CHECK(process.driver.in_flight() == 1);
}

TEST_CASE("A destroyed stream's work is outstanding until it is over", "[live]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);
  Gate::StreamEnd(process.gate, process.stream).gone();
  CHECK(process.page().outstanding() == 1);
  CHECK_FALSE(process.gate.look());
  process.driver.finish(process.stream);
  CHECK(process.gate.look());
  process.submit({0x5000, 0});  // takes the slot that became free
  CHECK(process.page().streams_used() == 1);
  CHECK(process.page().outstanding() == 1);
}

TEST_CASE("A thread's own stream is told apart, and marked, as nobody else can ask about it",
          "[live][threads]") {
  Process process;
  process.permit(kUnlimited);
  StreamName here = StreamName::of_this_thread(1), there;
  std::thread([&] {
    there = StreamName::of_this_thread(1);
    process.submit(there);
  }).join();
  CHECK(here.handle != there.handle);
  CHECK(process.page().outstanding() == 1);
  process.driver.finish(there);
  CHECK(process.gate.look());
}

TEST_CASE("More threads than there are slots are all seen inside", "[live][threads]") {
  Process process;
  process.permit(kUnlimited);
  constexpr int kMany = static_cast<int>(kThreads) + 20;
  std::atomic<int> inside{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kMany; ++t)
    threads.emplace_back([&] {
      const Submission submission{&process.stream, false};
      const Pass pass = process.gate.enter(submission);
      ++inside;
      while (!go) std::this_thread::yield();
      process.gate.leave(pass, submission, true);
    });
  REQUIRE(soon([&] { return inside.load() == kMany; }));
  CHECK(process.page().inside() == kMany);
  go = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(process.page().nobody_inside());
  CHECK(process.page().submissions() == kMany);
}

}  // namespace
}  // namespace gangway::live

// The client's book of preemptible launches against a device that does everything at the worst moment.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/fake_context.hpp"

namespace gangway::testing {
namespace {

struct PlayedBook {
  std::uint64_t evictions = 0, launches = 0, joined = 0, answered = 0, unexpected = 0, said = 0,
                looked_up = 0;
  std::set<std::string> faults;
};

// `waits`: some launches' blocks wait for the last one of their grid.
PlayedBook play_book(std::uint64_t seed, bool waits) {
  Stream random(seed, "program", {});
  FakeContext device(seed);
  device.no_looks = !waits && random.below(3) == 0;
  LaunchBook book(device);
  PlayedBook played;
  bool leaving = false, away = false;
  std::uint64_t claims_away = 0;
  std::map<std::uint64_t, std::vector<std::uint32_t>> in_stream;
  const std::uint64_t streams = 1 + random.below(3);
  std::uint32_t launches = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    switch (random.below(12)) {
      case 0:
        if (launches < 30 && !leaving) {  // the gate holds launches while others have the device
          const std::uint64_t stream = random.below(streams);
          const auto blocks = static_cast<std::uint32_t>(1 + random.below(20));
          device.knows(launches, blocks, waits && random.below(3) == 0);
          if (book.launch(std::make_unique<FakeLaunch>(launches, blocks), stream).submitted) {
            in_stream[stream].push_back(launches);
            ++launches;
          } else {
            device.knows(launches, 0);
          }
          if (random.below(2) == 0) device.mark(stream, in_stream[stream]);
        }
        break;
      case 1:
        if (random.below(4) == 0) {
          leaving = !leaving;
          leaving ? book.leave() : book.go_on();
          away = false;
        }
        break;
      case 2:
      case 3:
        book.step();
        break;
      default:
        device.step();
    }
    if (leaving && !away && book.away().all()) {
      away = true;
      claims_away = device.claims();
    }
    if (away && device.claims() != claims_away) played.faults.insert("a block claims while all is away");
  }
  if (!leaving) book.leave();
  for (int turn = 0; turn < 20'000 && !book.away().all(); ++turn) {
    device.step();
    book.step();
  }
  if (!book.away().all() && !waits) played.faults.insert("not all left");
  book.go_on();
  for (int turn = 0; turn < 20'000 && (book.any() || !device.idle()); ++turn) {
    for (int steps = 0; steps < 5; ++steps) device.step();
    book.step();
  }
  if (book.any()) played.faults.insert("launches are never over");
  if (!device.idle()) played.faults.insert("something on the device never goes on");
  if (!device.every_block_once()) played.faults.insert("a block did not run once");
  played.faults.insert(device.faults().begin(), device.faults().end());
  played.evictions = book.evictions();
  played.launches = launches;
  played.joined = device.joined();
  played.answered = device.answered();
  played.unexpected = device.unexpected();
  played.said = device.said();
  played.looked_up = device.looked_up();
  return played;
}

}  // namespace

TEST_CASE("a launch that left is launched again from where it was, and what is behind it waits") {
  FakeContext device(1);
  LaunchBook book(device);
  launch(device, book, 7, 5);
  device.mark(1, {7});
  CHECK_FALSE(book.away().all());
  for (int claims = 0; device.claims() < 2; ++claims) device.step();
  book.leave();
  for (int steps = 0; steps < 500; ++steps) device.step(), book.step();
  CHECK(book.away().all());
  CHECK(book.away().evicted == 1);
  CHECK(book.stopped(1));
  CHECK_FALSE(device.every_block_once());
  CHECK_FALSE(device.idle());  // the mark waits
  book.go_on();
  for (int steps = 0; steps < 500; ++steps) device.step(), book.step();
  CHECK(device.every_block_once());
  CHECK(device.idle());
  CHECK_FALSE(book.any());
  CHECK(device.faults() == std::set<std::string>{});
  CHECK(book.evictions() == 1);
}

TEST_CASE("whenever launches leave, every block runs once and nothing overtakes", "[long]") {
  std::uint64_t evictions = 0, launches = 0, answered = 0, unexpected = 0, said = 0, looked_up = 0;
  for (const int number : case_numbers(400, 100'000)) {
    const PlayedBook played = play_book(static_cast<std::uint64_t>(number), false);
    INFO("case " << number);
    REQUIRE(played.faults == std::set<std::string>{});
    evictions += played.evictions;
    launches += played.launches;
    answered += played.answered;
    unexpected += played.unexpected;
    said += played.said;
    looked_up += played.looked_up;
  }
  CHECK(evictions * 5 > launches);
  CHECK(answered * 100 > launches);
  CHECK(unexpected * 50 > launches);
  CHECK(said * 20 > launches);
  CHECK(looked_up * 50 > launches);
}

TEST_CASE("a last block's word is enough to know that a launch has left") {
  FakeContext device(4);
  LaunchBook book(device);
  launch(device, book, 8, 5);
  while (device.claims() < 2) device.step();
  book.leave();
  while (device.leaves() == 0) device.step();
  book.step();
  CHECK(device.runs());  // its kernel has not ended
  CHECK(device.questions() == 0);
  CHECK(device.said() == 1);
  CHECK(book.away().evicted == 1);
  book.go_on();
  for (int steps = 0; steps < 500; ++steps) device.step(), book.step();
  CHECK(device.every_block_once());
  CHECK_FALSE(book.any());
  CHECK(device.faults() == std::set<std::string>{});
}

TEST_CASE("a launch whose blocks wait for later ones is over after all, every block once", "[long]") {
  std::uint64_t joined = 0, plays = 0;
  for (const int number : case_numbers(400, 100'000)) {
    const PlayedBook played = play_book(static_cast<std::uint64_t>(number), true);
    INFO("case " << number);
    REQUIRE(played.faults == std::set<std::string>{});
    joined += played.joined;
    ++plays;
  }
  CHECK(joined > plays);
}

TEST_CASE("what waits for its last block is not told to leave a second time") {
  FakeLaunch::known = false;
  FakeContext device(3);
  LaunchBook book(device);
  launch(device, book, 7, 5, true);
  while (device.claims() < 2) device.step();
  book.leave();
  for (int steps = 0; steps < 500; ++steps) device.step(), book.step();
  CHECK_FALSE(book.away().all());  // those that run wait for those that were refused
  CHECK(book.kernels_that_wait() == 0);
  book.go_on();
  while (device.joined() == 0) device.step(), book.step();
  CHECK(book.kernels_that_wait() == 1);
  book.leave();
  for (int steps = 0; steps < 500; ++steps) device.step(), book.step();
  CHECK(device.every_block_once());
  CHECK_FALSE(book.any());
  CHECK(device.idle());
  CHECK(device.faults() == std::set<std::string>{});
  CHECK(book.evictions() == 0);
}

TEST_CASE("a launch that was told to leave is expected to do so, but not for long") {
  FakeContext device(9);
  LaunchBook book(device);
  launch(device, book, 7, 5);
  book.step();
  CHECK_FALSE(device.expects());
  book.leave();
  for (int tries = 0; tries < 50 && !device.expects(); ++tries) book.step();
  CHECK(device.expects());
  CHECK(device.unexpected() == 0);
  device.pass_time(), book.step();
  CHECK_FALSE(device.expects());
  CHECK(device.unexpected() == 1);
  for (int tries = 0; tries < 50; ++tries) book.step();
  CHECK_FALSE(device.expects());
}

TEST_CASE("a launch that stands behind another stream's work is not begun ahead of it") {
  FakeContext device(5);
  LaunchBook book(device);
  launch(device, book, 7, 5);
  book.leave();
  for (int turn = 0; turn < 200; ++turn) device.pass_time(), book.step();
  book.go_on();
  for (int turn = 0; turn < 200; ++turn) device.pass_time(), book.step();
  CHECK(device.claims() == 0);
  CHECK(device.joined() == 0);
  for (int steps = 0; steps < 1000; ++steps) device.step(), book.step();
  CHECK(device.every_block_once());
  CHECK_FALSE(book.any());
}

}  // namespace gangway::testing

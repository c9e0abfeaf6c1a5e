// Launches in slices in the client's book: what is asked of the device, in what order.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/live/launch_book.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

using live::LaunchBook;
using live::SlicedKernel;
using live::Word;

class Sliced : public live::RepeatableLaunch {
 public:
  explicit Sliced(std::uint32_t blocks) : blocks_(blocks) {}
  std::uint32_t blocks() const override { return blocks_; }
  bool sliced() const override { return true; }
  SlicedKernel of_slices() const override { return {7, 2, 1000}; }
  void slice_took(std::uint32_t blocks, std::int64_t) override { measured += blocks; }
  bool waits_for_later_blocks() override { return true; }
  std::string kernel() const override { return "sliced"; }
  inline static std::uint64_t measured = 0;

 private:
  const std::uint32_t blocks_;
};

class Leaving : public live::RepeatableLaunch {
 public:
  std::uint32_t blocks() const override { return 10; }
};

// Streams that come to their launches, and slices that end, when the test says so.
class SlicingPort : public live::LaunchPort {
 public:
  std::optional<Word> take() override { return ++words_; }
  void give_back(Word) override {}
  void retire(Word, std::uint64_t, std::uint32_t) override {}
  live::Submitted launch(const live::RepeatableLaunch&, std::uint64_t, Word, std::uint32_t) override {
    return live::Submitted::held;
  }
  std::uint32_t gone(std::uint64_t stream) override { return come[stream]; }
  void flag(const std::vector<Word>& words, bool) override { flags += words.size(); }
  bool ask(const live::RepeatableLaunch&, Word) override { return ++asked != 0 && !refuses; }
  bool again(const live::RepeatableLaunch&, std::uint64_t, Word, std::uint32_t) override { return !refuses; }
  std::int32_t refusal() override { return error; }
  void failed(const live::RepeatableLaunch&, std::int32_t with) override {
    CHECK(finished.empty());
    failures.push_back(with);
  }
  std::optional<std::uint32_t> count(Word word) override {
    if (counted) return std::exchange(counted, std::nullopt);
    return joined.count(word) != 0 && joins_end ? std::optional(0U) : std::nullopt;
  }
  bool look(const live::RepeatableLaunch&, Word) override { return ++asked != 0; }
  void drop_look(Word) override {}
  std::optional<std::uint32_t> looked(Word) override { return seen; }
  bool join(const live::RepeatableLaunch&, Word word, std::uint32_t first, std::uint32_t end) override {
    if (refuses) return false;
    joined[word] = {first, end};
    return true;
  }
  bool slice(const live::RepeatableLaunch&, std::uint32_t first, std::uint32_t end) override {
    if (refuses) return false;
    slices.push_back({first, end});
    runs = true;
    return true;
  }
  std::optional<std::int64_t> slice_over() override {
    if (runs) return std::nullopt;
    return 10;
  }
  std::int64_t now() override { return time; }
  void finish(Word, std::uint32_t blocks) override { finished.push_back(blocks); }

  using Range = std::pair<std::uint32_t, std::uint32_t>;
  std::map<std::uint64_t, std::uint32_t> come;  // by stream: launches to which it has come
  std::vector<Range> slices;
  std::map<Word, Range> joined;
  std::vector<std::uint32_t> finished;
  std::size_t flags = 0, asked = 0;
  bool runs = false, refuses = false, joins_end = false;
  std::int64_t time = 0;
  std::int32_t error = 0;  // of the driver, for what it refuses
  std::vector<std::int32_t> failures;
  std::optional<std::uint32_t> counted;  // the answer to the next question
  std::optional<std::uint32_t> seen;     // by looks

 private:
  Word words_ = 0;
};

struct SlicedBook {
  SlicingPort port;
  LaunchBook book{port};
  void launch(std::uint32_t blocks, std::uint64_t stream) {
    REQUIRE(book.launch(std::make_unique<Sliced>(blocks), stream).submitted);
  }
  void end_slice() {
    port.runs = false;
    book.step();
  }
};

}  // namespace

TEST_CASE("a launch in slices begins when its stream has come to it, and ends with its last block") {
  SlicedBook it;
  it.launch(10, 1);
  it.book.step();
  CHECK_FALSE(it.book.turn());
  CHECK_FALSE(it.book.slice(4));
  it.port.come[1] = 1;
  it.book.step();
  REQUIRE(it.book.turn());
  CHECK((it.book.turn()->done == 0 && it.book.turn()->blocks == 10 && it.book.turn()->of.kernel == 7));
  CHECK(it.book.stopped(1));  // nothing of it runs
  CHECK(it.book.slice(4));
  CHECK_FALSE(it.book.stopped(1));
  CHECK_FALSE(it.book.slice(8));  // one at a time
  it.book.step();
  CHECK(it.book.turn()->runs);
  it.end_slice();
  CHECK((it.book.turn()->done == 4 && !it.book.turn()->runs && it.book.any()));
  CHECK_FALSE(it.book.slice(4));  // nothing is left of that
  CHECK(it.port.finished.empty());
  CHECK(it.book.slice(100));
  it.end_slice();
  CHECK(it.port.slices == std::vector<SlicingPort::Range>{{0, 4}, {4, 10}});
  CHECK(it.port.finished == std::vector<std::uint32_t>{10});
  CHECK((!it.book.any() && !it.book.turn() && it.book.over(1, 1)));
}

TEST_CASE("launches in slices take turns as their streams come to them, each until it is over") {
  SlicedBook it;
  it.launch(3, 1);
  it.launch(3, 1);
  it.launch(3, 2);
  it.port.come[2] = 1;
  it.book.step();
  it.port.come[1] = 2;
  it.book.step();
  std::vector<std::uint64_t> streams;
  for (int launch = 0; launch < 3; ++launch) {
    REQUIRE(it.book.turn());
    streams.push_back(it.book.turn()->stream);
    for (std::uint32_t block = 1; block <= 3; ++block) {
      REQUIRE(it.book.slice(block));
      it.end_slice();
    }
  }
  CHECK(streams == std::vector<std::uint64_t>{2, 1, 1});
  CHECK_FALSE(it.book.any());
}

TEST_CASE("a launch in slices is never told to leave, and is evicted between two of them") {
  SlicedBook it;
  it.launch(10, 1);
  it.port.come[1] = 1;
  it.book.step();
  it.book.leave();  // before its first block
  CHECK(it.book.evictions() == 0);
  CHECK(it.book.away().all());
  CHECK_FALSE(it.book.slice(4));
  it.book.go_on();
  CHECK(it.book.slice(4));
  it.book.leave();
  CHECK_FALSE(it.book.away().all());
  it.end_slice();
  CHECK(it.book.away().all());
  CHECK(it.book.evictions() == 1);
  it.book.go_on();
  it.book.leave();
  CHECK(it.book.evictions() == 2);
  CHECK((it.port.flags == 0 && it.port.asked == 0));
}

TEST_CASE("the rest of a grid joins a slice that never ends, and then all is done") {
  SlicedBook it;
  it.book.set_patience(1'000);
  it.launch(10, 1);
  it.port.come[1] = 1;
  it.book.step();
  REQUIRE(it.book.slice(4));
  it.port.time = 9'000;
  it.book.step();
  CHECK(it.port.joined.empty());
  it.port.time = 11'000;
  for (int n = 0; n < 3; ++n) it.book.step();
  REQUIRE(it.port.joined.size() == 1);
  CHECK(it.port.joined.begin()->second == SlicingPort::Range{4, 10});
  CHECK((it.book.kernels_that_wait() == 1 && it.book.latest_that_waits() == "sliced"));
  it.end_slice();
  CHECK(it.book.any());
  it.port.joins_end = true;
  it.book.step();
  CHECK_FALSE(it.book.any());
  CHECK(it.port.finished == std::vector<std::uint32_t>{10});
}

TEST_CASE("a launch whose slices the driver refuses for long has failed, and its stream goes on") {
  SlicedBook it;
  it.launch(10, 1);
  it.launch(10, 1);
  it.port.come[1] = 2;
  it.book.step();
  REQUIRE(it.book.slice(4));
  it.end_slice();
  it.port.refuses = true;
  const auto refused = [&](int times) {
    for (int time = 0; time < times; ++time) {
      CHECK_FALSE(it.book.slice(10));
      it.book.step();
      it.port.time += 10'000'000;
    }
  };
  refused(50);  // not by the driver: there is no room, say
  CHECK((it.port.failures.empty() && it.book.turn()->number == 1));
  it.port.error = 701;
  refused(10);  // 100 ms, but not often enough
  it.port.refuses = false;
  CHECK(it.book.slice(6));
  it.end_slice();
  it.port.refuses = true;
  refused(15);
  CHECK((it.port.failures.empty() && it.port.finished.empty() && it.book.failed_launches() == 0));
  refused(1);
  CHECK(it.book.failed_launches() == 1);
  CHECK(it.port.failures == std::vector<std::int32_t>{701});
  CHECK(it.port.finished == std::vector<std::uint32_t>{10});
  REQUIRE(it.book.turn());
  CHECK((it.book.turn()->number == 2 && it.book.ended() == 1));
  it.port.refuses = false;
  CHECK(it.book.slice(10));
  it.end_slice();
  CHECK_FALSE(it.book.any());
}

TEST_CASE("a launch that has left fails when the driver refuses for long what its return needs") {
  const auto refused_at = GENERATE(0, 1, 2);
  SlicedBook it;
  const auto steps = [&](int times) {
    for (int time = 0; time < times; ++time, it.port.time += 10'000'000) it.book.step();
  };
  REQUIRE(it.book.launch(std::make_unique<Leaving>(), 1).submitted);
  it.book.leave();
  it.port.come[1] = 1;
  it.port.error = 2;
  it.port.refuses = refused_at == 0;  // the question how far it has come
  it.book.step();
  if (refused_at > 0) {
    it.port.refuses = refused_at == 1;  // the launch of the rest
    it.port.counted = 4;
    it.book.step();
    CHECK(it.book.evictions() == 1);
    it.book.go_on();
    it.book.step();
  }  // or the answer when the rest has ended
  steps(16);
  CHECK(it.port.failures == std::vector<std::int32_t>{2});
  it.book.step();
  CHECK(it.port.finished == std::vector<std::uint32_t>{10});
  CHECK((!it.book.any() && it.book.ended() == 1));
}

TEST_CASE("a launch fails when the driver refuses for long the blocks for which it waits") {
  SlicedBook it;
  it.book.set_patience(1'000'000);
  REQUIRE(it.book.launch(std::make_unique<Leaving>(), 1).submitted);
  it.book.leave();
  it.port.seen = 4;  // of ten blocks, and no more
  const auto steps = [&](int times) {
    for (int time = 0; time < times; ++time, it.port.time += 10'000'000) it.book.step();
  };
  steps(4);
  it.port.refuses = true;
  it.port.error = 2;
  it.book.go_on();
  steps(40);
  CHECK(it.port.failures == std::vector<std::int32_t>{2});
  CHECK(it.port.finished == std::vector<std::uint32_t>{10});
  CHECK((!it.book.any() && it.book.ended() == 1));
}

TEST_CASE("whatever is refused and whoever leaves, slices follow each other to the last block") {
  Stream random(5, "slices", {});
  for (int number = 0; number < 200; ++number) {
    SlicedBook it;
    const auto blocks = static_cast<std::uint32_t>(1 + random.below(40));
    it.launch(blocks, 1);
    it.port.come[1] = 1;
    const std::uint64_t before = Sliced::measured;
    bool leaving = false;
    for (int turn = 0; turn < 2000 && it.book.any(); ++turn) {
      if (random.below(4) == 0) it.port.runs = false;
      it.port.refuses = random.below(3) == 0;
      it.book.step();
      if (random.below(5) == 0) {
        leaving = !leaving;
        leaving ? it.book.leave() : it.book.go_on();
      }
      it.book.slice(static_cast<std::uint32_t>(random.below(blocks + 2)));
    }
    INFO("case " << number);
    REQUIRE_FALSE(it.book.any());
    std::uint32_t next = 0;
    for (const auto& [first, end] : it.port.slices) {
      REQUIRE(first == next);
      REQUIRE(end > first);
      next = end;
    }
    REQUIRE(next == blocks);
    REQUIRE(Sliced::measured - before == blocks);
  }
}

}  // namespace gangway::testing

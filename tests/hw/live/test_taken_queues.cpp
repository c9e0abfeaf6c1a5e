#include <memory>
#include <set>

#include "hw/live/gate.hpp"
#include "hw/live/taken_queues.hpp"
#include "tests/catch.hpp"

namespace gangway::live {
namespace {

constexpr std::uint64_t kContext = 5, kOther = 6;
constexpr StreamName kA{0x100, 0}, kB{0x200, 0}, kC{0x300, 0}, kOfOther{0x400, 0};

// A page on which streams submit and end.
struct Page {
  std::unique_ptr<ClientPage> page = std::make_unique<ClientPage>();
  std::set<std::uint64_t> held;
  std::int64_t now = 0, open_since = 0;
  TakenQueues queues{[this](const StreamName& stream) { return held.count(stream.handle) != 0; }};

  StreamSlot& slot(const StreamName& name, std::uint64_t context = kContext) {
    const std::uint32_t used = page->streams.load();
    for (std::uint32_t s = 0; s < used; ++s)
      if (page->stream[s].stream.load() == name.handle) return page->stream[s];
    page->stream[used].stream.store(name.handle);
    page->stream[used].context.store(context);
    page->streams.store(used + 1);
    return page->stream[used];
  }
  void submits(const StreamName& name, std::uint64_t context = kContext) {
    slot(name, context).begun.fetch_add(1);
  }
  void ends(const StreamName& name) { slot(name).over(slot(name).begun.load()); }
  bool take(const StreamName& name, std::size_t most = 2, std::uint64_t context = kContext) {
    return queues.take(*page, name, context, most, {now, open_since});
  }
};

}  // namespace

TEST_CASE("streams with work, and those about to submit, take queues", "[live]") {
  Page page;
  CHECK(page.take(kA));
  CHECK(page.take(kA));  // it has one
  CHECK(page.take(kB));
  CHECK_FALSE(page.take(kC));
  CHECK(page.take(kOfOther, 2, kOther));  // of another context
  page.submits(kA);
  page.submits(kB);
  CHECK_FALSE(page.take(kC));
  page.ends(kA);
  CHECK(page.take(kC));
  CHECK_FALSE(page.take(kA));
  CHECK(page.take(kB));  // it still has work
  CHECK_FALSE(page.take(kB, 0));
  CHECK_FALSE(Page().take(kA, 0));
}

TEST_CASE("a stream that waits for a held one keeps its queue without work of its own", "[live]") {
  Page page;
  page.submits(kA);
  CHECK(page.take(kB));
  page.held.insert(kB.handle);
  page.submits(kB);
  page.ends(kB);
  CHECK_FALSE(page.take(kC));
  page.held.clear();
  CHECK(page.take(kC));
}

TEST_CASE("who has taken a queue and does not submit loses it after a second with the gate open", "[live]") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Page page;
  CHECK(page.take(kA));
  CHECK(page.take(kB));
  SECTION("it was open all the time") {
    page.now = kSecond;
    CHECK_FALSE(page.take(kC));
    page.now += 1;
    CHECK(page.take(kC));
  }
  SECTION("it was closed") {
    for (const bool asked_meanwhile : {true, false}) {
      INFO(asked_meanwhile);
      page.now += 10 * kSecond;
      page.open_since = Gate::kNotOpen;
      if (asked_meanwhile) CHECK_FALSE(page.take(kC));
      page.open_since = page.now;
      page.now += kSecond / 2;
      CHECK_FALSE(page.take(kC));
    }
    page.now += kSecond;
    CHECK(page.take(kC));
  }
  SECTION("it was closed, and then opened by nobody who says when") {
    page.now += 10 * kSecond;
    page.open_since = Gate::kNotOpen;
    CHECK_FALSE(page.take(kC));
    page.open_since = 0;
    page.now += kSecond / 2;
    CHECK_FALSE(page.take(kC));
  }
}

TEST_CASE("a stream that waits and has work takes one queue", "[live]") {
  Page page;
  CHECK(page.take(kB));
  page.held.insert(kB.handle);
  page.submits(kB);
  CHECK(page.take(kA));
  CHECK_FALSE(page.take(kC));
}

}  // namespace gangway::live

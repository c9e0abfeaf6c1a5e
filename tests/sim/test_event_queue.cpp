#include <map>

#include "models/random.hpp"
#include "sim/event_queue.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"

using namespace gangway;

TEST_CASE("events come out by time, then by insertion, as from an ordered map", "[long]") {
  for (const int round : testing::case_numbers(50, 5'000)) {
    Stream random(static_cast<std::uint64_t>(round), "queue", {});
    EventQueue queue;
    std::map<std::pair<std::int64_t, std::uint64_t>, std::uint32_t> reference;
    for (int i = 0; i < 4'000; ++i) {
      // Growing and shrinking phases, so that every size and every incomplete group of children occurs.
      const bool grow = random.below(100) < ((i / 500) % 2 == 0 ? 60u : 40u);
      if (grow || reference.empty()) {
        const Time time{static_cast<std::int64_t>(random.below(round % 3 == 0 ? 4 : 1'000'000'000'000))};
        const auto id = static_cast<std::uint32_t>(random.below(1u << EventQueue::kIdBits));
        reference[{time.ns, queue.push(time, id)}] = id;
      } else {
        REQUIRE(queue.next_time().ns == reference.begin()->first.first);
        const EventQueue::Event event = queue.pop();
        REQUIRE(event.time.ns == reference.begin()->first.first);
        REQUIRE(event.sequence == reference.begin()->first.second);
        REQUIRE(event.id == reference.begin()->second);
        reference.erase(reference.begin());
      }
      REQUIRE(queue.size() == reference.size());
    }
    queue.clear();
    REQUIRE(queue.empty());
    queue.push(Time{5}, 1);
    queue.push(Time{4}, 2);
    REQUIRE(queue.pop().id == 2);
  }
}

// Where programs go and when clients move, worked out by hand.
#include "hw/live/gpus/gpu_list.hpp"
#include "hw/live/gpus/placement.hpp"
#include "hw/live/gpus/use_window.hpp"
#include "models/error.hpp"
#include "tests/catch.hpp"

namespace gangway::live {
namespace {

constexpr std::uint64_t kPlacedGiB = std::uint64_t{1} << 30;
const std::vector<std::uint64_t> kTwoRooms{64 * kPlacedGiB, 64 * kPlacedGiB};

TEST_CASE("a program goes to the GPU with the least share of memory and of time together") {
  // 40 of 80 GiB and half of the time: 1. 20 of 80 GiB and 60 %: 0.85.
  CHECK(load_of({40 * kPlacedGiB, 80 * kPlacedGiB, 0.5, 1}) == Approx(1.0));
  CHECK(load_of({20 * kPlacedGiB, 80 * kPlacedGiB, 0.6, 1}) == Approx(0.85));
  CHECK(least_loaded(
            {{40 * kPlacedGiB, 80 * kPlacedGiB, 0.5, 1}, {20 * kPlacedGiB, 80 * kPlacedGiB, 0.6, 9}}) == 1);
  // The same bytes are less of a larger GPU.
  CHECK(least_loaded({{20 * kPlacedGiB, 40 * kPlacedGiB, 0, 1}, {20 * kPlacedGiB, 80 * kPlacedGiB, 0, 1}}) ==
        1);
}

TEST_CASE("where loads are alike the fewest programs decide, then the number") {
  CHECK(least_loaded({{}, {}, {}}) == 0);
  CHECK(least_loaded({{0, 1, 0, 1}, {0, 1, 0, 0}, {0, 1, 0, 0}}) ==
        1);                                                      // nothing is measured of who has just come
  CHECK(least_loaded({{0, 1, 0.509, 0}, {0, 1, 0.5, 3}}) == 0);  // within 1 %
  CHECK(least_loaded({{0, 1, 0.52, 0}, {0, 1, 0.5, 3}}) == 1);
}

TEST_CASE("a move takes as long as its state goes out and in") {
  // 16 GB out at 8 GB/s, in at 16 GB/s, and 0.3 s.
  CHECK(move_time(16'000'000'000, {8e9, 16e9, Duration{300'000'000}}) == Duration{3'300'000'000});
}

TEST_CASE("turnaround grows with the square of what a GPU is asked for beyond itself") {
  CHECK(turnaround({2, 0}) == Approx(4));
  CHECK(turnaround({1, 1}) == Approx(2));
  CHECK(turnaround({0.5, 0.25}) == Approx(0.75));  // nobody waits
  CHECK(turnaround({3, 1}) == Approx(10));
  CHECK(turnaround({2, 2}) == Approx(8));
}

// 8 GB/s out and in, 0.3 s.
const MovePace kEvenPace{8e9, 8e9, Duration{300'000'000}};

TEST_CASE("one of two clients that always work moves to the idle GPU") {
  // From 4 to 2 a second: 20 over ten seconds. 16 GB at 8 GB/s out and in: 4.3 s, twice 8.6.
  const auto choice = best_move({{0, 1, 16'000'000'000}, {0, 1, 20'000'000'000}}, kTwoRooms, kEvenPace, {});
  REQUIRE(choice);
  CHECK(choice->client == 0);  // the smaller one costs less
  CHECK(choice->to == 1);
  CHECK(choice->gain == Approx(2));
  CHECK(choice->expected == Duration{4'300'000'000});
}

TEST_CASE("a move that gains no more than twice its cost is none") {
  // 20 gained; 38.8 GB cost 10 s, twice that is 20.
  CHECK(!best_move({{0, 1, 38'800'000'000}, {0, 1, 38'800'000'000}}, kTwoRooms, kEvenPace, {}));
  CHECK(best_move({{0, 1, 38'700'000'000}, {0, 1, 38'800'000'000}}, kTwoRooms, kEvenPace, {}));
  // The same state pays over a longer window, and on a faster bus.
  MoveRule longer;
  longer.window = Duration{20'000'000'000};
  CHECK(best_move({{0, 1, 38'800'000'000}, {0, 1, 38'800'000'000}}, kTwoRooms, kEvenPace, longer));
  CHECK(best_move({{0, 1, 38'800'000'000}, {0, 1, 38'800'000'000}}, kTwoRooms, {40e9, 40e9, {}}, {}));
}

TEST_CASE("nobody moves where that only exchanges who waits") {
  CHECK(!best_move({{0, 1, 1}, {0, 1, 1}, {1, 1, 1}}, kTwoRooms, {}, {}));  // 5 before and after
  CHECK(!best_move({{0, 0.4, 1}, {0, 0.5, 1}}, kTwoRooms, {}, {}));         // there is room for both in time
  // 1.21 before, 1.1 after: 0.11 is below the least gain of 0.25.
  CHECK(!best_move({{0, 0.6, 1}, {0, 0.5, 1}}, kTwoRooms, {}, {}));
}

TEST_CASE("three and one become two and two") {
  // 10 to 8.
  const auto choice = best_move({{0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}}, kTwoRooms, {}, {});
  REQUIRE(choice);
  CHECK(choice->gain == Approx(2));
}

TEST_CASE("a client moves only where its state has room, and only if it can") {
  CHECK(!best_move({{0, 1, 2 * kPlacedGiB}, {0, 1, 2 * kPlacedGiB}}, {0, kPlacedGiB}, {}, {}));
  // The third GPU has room.
  const auto third =
      best_move({{0, 1, 2 * kPlacedGiB}, {0, 1, 2 * kPlacedGiB}}, {0, kPlacedGiB, 3 * kPlacedGiB}, {}, {});
  REQUIRE(third);
  CHECK(third->to == 2);
  // Who cannot move counts all the same.
  const auto other = best_move({{0, 1, 1, false}, {0, 1, 5 * kPlacedGiB}}, kTwoRooms, {}, {});
  REQUIRE(other);
  CHECK(other->client == 1);
  CHECK(!best_move({{0, 1, 1, false}, {0, 1, 1, false}}, kTwoRooms, {}, {}));
}

TEST_CASE("after a move the same load moves nobody back") {
  std::vector<Wanting> clients{{0, 1, 1}, {0, 1, 1}, {0, 0.7, 1}};
  int moves = 0;
  while (const auto choice = best_move(clients, kTwoRooms, {}, {})) {
    clients[choice->client].gpu = choice->to;
    REQUIRE(++moves < 5);
  }
  CHECK(moves == 1);
}

TEST_CASE("a window forgets what is longer ago than its length") {
  UseWindow window(Duration{1000});
  window.add({0}, false, 0.0);
  CHECK(!window.use());
  CHECK(window.demand() == 0);
  window.add({500}, true, 0.0);
  CHECK(window.demand() == Approx(1));
  CHECK(window.use() == 0.0);
  CHECK(!window.full());
  window.add({1000}, true, 1.0);  // half of it in use
  REQUIRE(window.use());
  CHECK(*window.use() == Approx(0.5));
  CHECK(window.full());
  window.add({3000}, false, 1.0);
  CHECK(window.demand() == 0);
  CHECK(*window.use() == Approx(1));
  window.restart();
  CHECK(!window.full());
  CHECK(!window.use());
}

TEST_CASE("the use of a window counts in the time in which it was known") {
  UseWindow window(Duration{1000});
  window.add({0}, false, 0.0);
  window.add({100}, true, 0.5);  // two had work: half of the time was its own
  CHECK(*window.use() == Approx(0.5));
  window.add({900}, true, std::nullopt);
  CHECK(*window.use() == Approx(0.5));
  CHECK(window.demand() == Approx(1));
  window.add({1000}, true, 1.0);
  CHECK(*window.use() == Approx(0.75));
  window.add({5000}, true, std::nullopt);  // what was known is longer ago than the window
  CHECK(!window.use());
}

TEST_CASE("a list of GPUs names each once") {
  std::vector<GpuFacts> all(3);
  for (unsigned number : {0U, 1U, 2U}) all[number].number = number;
  CHECK(chosen_gpus("--gpu", "all", all).size() == 3);
  const auto two = chosen_gpus("--gpu", "2,0", all);
  REQUIRE(two.size() == 2);
  CHECK(two[0].number == 2);
  for (const char* wrong : {"3", "1,1", "0,", "-1", "0,x", ""})
    CHECK_THROWS_AS(chosen_gpus("--gpu", wrong, all), InputError);
  CHECK(one_gpu("7"));
  CHECK(!one_gpu("all"));
  CHECK(!one_gpu("0,1"));
}

TEST_CASE("a place has one of three names") {
  for (const char* name : {"fixed", "least-loaded", "migrate"})
    CHECK(std::string(text_of(place_named("--place", name))) == name);
  CHECK_THROWS_AS(place_named("--place", "most"), InputError);
}

}  // namespace
}  // namespace gangway::live

// Addresses and what is behind them, against a plain list of what is taken.
#include <map>
#include <random>

#include "hw/live/memory/heap.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"

namespace gangway::live {
namespace {

TEST_CASE("A size that rounds up beyond all addresses has no place, though some are free", "[live][memory]") {
  Heap heap({512, 2 << 20, 64 << 20, 64 << 20});
  heap.add({1ULL << 40, (1ULL << 40) + (1ULL << 30)});
  const auto plan = heap.plan(1000, true);
  REQUIRE(plan);
  heap.back(plan->to_back);
  heap.take(plan->taken);
  for (const std::uint64_t less : {0ULL, 1ULL, 510ULL, 511ULL, 512ULL, 1ULL << 21})
    CHECK_FALSE(heap.plan(UINT64_MAX - less, false));
}

TEST_CASE("Allocations never overlap and always have memory behind them", "[live][memory][long]") {
  for (const int seed : gangway::testing::case_numbers(200, 20'000)) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const Heap::Shape shape{seed % 2 == 0 ? 512ULL : 2ULL << 20, 2 << 20, 64 << 20,
                            (seed / 2) % 2 == 0 ? 64ULL << 20 : 512ULL << 20};
    Heap heap(shape);
    heap.add({1ULL << 40, (1ULL << 40) + (8ULL << 30)});
    std::map<std::uint64_t, std::uint64_t> taken, backed;  // end by begin
    std::uint64_t sum_taken = 0, sum_backed = 0;
    for (int step = 0; step < 200; ++step) {
      if (random() % 3 != 0 || taken.empty()) {
        const std::uint64_t size = 1 + random() % (random() % 4 == 0 ? 200ULL << 20 : 3ULL << 20);
        const auto plan = heap.plan(size, random() % 2 == 0);
        REQUIRE(plan);
        const Heap::Span at = plan->taken;
        REQUIRE(at.size() == heap.rounded(size));
        REQUIRE(at.begin % shape.grain == 0);
        std::uint64_t covered = 0;
        for (const Heap::Span piece : heap.pieces(plan->to_back)) {
          REQUIRE((piece.size() <= shape.piece && piece.size() % shape.page == 0));
          backed[piece.begin] = piece.end;
          covered += piece.size();
        }
        REQUIRE(covered == plan->to_back.size());
        sum_backed += covered;
        if (covered != 0) heap.back(plan->to_back);
        heap.take(at);
        const auto after = taken.lower_bound(at.begin);
        REQUIRE((after == taken.end() || after->first >= at.end));
        REQUIRE((after == taken.begin() || std::prev(after)->second <= at.begin));
        for (std::uint64_t a = at.begin; a < at.end;) {
          const auto piece = std::prev(backed.upper_bound(a));
          REQUIRE(piece->second > a);
          a = piece->second;
        }
        taken[at.begin] = at.end;
        sum_taken += at.size();
      } else {
        const auto which = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
        const Heap::Span gone{which->first, which->second};
        heap.free(gone);
        sum_taken -= gone.size();
        taken.erase(which);
        for (auto piece = backed.begin(); piece != backed.end();) {
          const auto user = taken.lower_bound(piece->first);
          const bool used = (user != taken.end() && user->first < piece->second) ||
                            (user != taken.begin() && std::prev(user)->second > piece->first);
          REQUIRE(heap.is_free({piece->first, piece->second}) == !used);
          if (used || random() % 2 == 0) {
            ++piece;
            continue;
          }
          heap.unback({piece->first, piece->second});
          sum_backed -= piece->second - piece->first;
          piece = backed.erase(piece);
        }
      }
      REQUIRE(heap.backed() == sum_backed);
      REQUIRE(heap.idle() == sum_backed - sum_taken);
    }
  }
}

}  // namespace
}  // namespace gangway::live

#include <atomic>
#include <thread>
#include <vector>

#include "hw/intercept/forms/handle_table.hpp"
#include "tests/catch.hpp"

namespace gangway::intercept {
namespace {

void* handle(std::uintptr_t number) { return reinterpret_cast<void*>(number << 4); }

}  // namespace

TEST_CASE("a handle means what it was last given") {
  HandleTable<int> table;
  CHECK(table.find(handle(1)) == nullptr);
  table.remove(handle(1));
  table.put(handle(1), std::make_shared<int>(7));
  table.put(handle(2), std::make_shared<int>(8));
  CHECK(*table.find(handle(1)) == 7);
  table.put(handle(1), std::make_shared<int>(9));
  CHECK((*table.find(handle(1)) == 9 && *table.find(handle(2)) == 8));
  table.put(handle(1), nullptr);
  CHECK((table.find(handle(1)) == nullptr && *table.find(handle(2)) == 8));
}

TEST_CASE("handles that were removed are in nobody's way, in any order") {
  HandleTable<int> table;
  std::vector<int> there(3000, 0);
  std::uint64_t random = 1;
  for (int step = 1; step <= 200'000; ++step) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto number = static_cast<std::size_t>(random >> 33) % there.size();
    // At times most are there, at times few.
    const bool puts = (random >> 20) % 100 < (step / 20'000 % 2 == 0 ? 80U : 20U);
    if (puts)
      table.put(handle(number + 1), std::make_shared<int>(step));
    else
      table.remove(handle(number + 1));
    there[number] = puts ? step : 0;
    if (step % 10'000 != 0) continue;
    std::size_t wrong = 0;
    for (std::size_t n = 0; n < there.size(); ++n) {
      const auto found = table.find(handle(n + 1));
      wrong += (found == nullptr ? 0 : *found) == there[n] ? 0 : 1;
    }
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("a table keeps its size and forgets, whatever comes and goes") {
  HandleTable<int> table;
  std::weak_ptr<int> first;
  for (std::uintptr_t n = 1; n <= 1'000'000; ++n) {
    auto value = std::make_shared<int>(1);
    if (n == 1) first = value;
    table.put(handle(n), std::move(value));
    if (n > 100) table.remove(handle(n - 100));
  }
  CHECK(table.places() == 1024);
  CHECK(table.used() < 200);
  CHECK(first.expired());
}

TEST_CASE("threads find what is there while other handles come and go") {
  HandleTable<int> table;
  constexpr std::uintptr_t kStay = 400;
  for (std::uintptr_t n = 1; n <= kStay; ++n)
    table.put(handle(n * 5), std::make_shared<int>(static_cast<int>(n)));
  std::atomic<bool> over{false};
  std::atomic<std::size_t> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader)
    readers.emplace_back([&] {
      while (!over.load())
        for (std::uintptr_t n = 1; n <= kStay; ++n) {
          const auto found = table.find(handle(n * 5));
          if (found == nullptr || *found != static_cast<int>(n)) ++wrong;
        }
    });
  for (std::uintptr_t n = 0; n < 100'000; ++n) {
    const std::uintptr_t number = n % 4000 * 5 + 1 + n % 4;
    if (table.find(handle(number)) == nullptr)
      table.put(handle(number), std::make_shared<int>(0));
    else
      table.remove(handle(number));
  }
  over.store(true);
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong.load() == 0);
}

}  // namespace gangway::intercept

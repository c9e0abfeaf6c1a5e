// Pinned memory of a client.
#include <pthread.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "hw/live/memory/host_pool.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/memory/fake_memory.hpp"

namespace gangway::live {
namespace {

using testing::FakeMemory;

TEST_CASE("Where the system has no more threads, one thread touches all pages", "[live][memory]") {
  pthread_attr_t before, none;
  REQUIRE(pthread_getattr_default_np(&before) == 0);
  pthread_attr_init(&none);
  REQUIRE(pthread_attr_setstacksize(&none, std::size_t{1} << 50) == 0);  // no thread can have that
  std::vector<char> pages(128 << 20, 1);
  REQUIRE(pthread_setattr_default_np(&none) == 0);
  CHECK_NOTHROW(touch_pages(pages.data(), pages.size(), 8));
  REQUIRE(pthread_setattr_default_np(&before) == 0);
  const auto untouched = [&] {
    for (std::size_t at = 0; at < pages.size(); at += 4096)
      if (pages[at] != 0) return true;
    return false;
  };
  CHECK(!untouched());
  std::fill(pages.begin(), pages.end(), 1);
  touch_pages(pages.data(), pages.size(), 8);
  CHECK(!untouched());
  pthread_attr_destroy(&none);
}

constexpr std::uint64_t kPoolMiB = 1 << 20;
std::uint64_t left_in_test = 0;

TEST_CASE("No more is pinned than the machine has left", "[live][memory]") {
  FakeMemory driver(1 << 30);
  HostPool pool(driver, [] { return left_in_test; });
  left_in_test = 600 * kPoolMiB;
  CHECK(pool.grow(1024 * kPoolMiB) == HostPool::Growth::more);
  CHECK(pool.pinned() == 512 * kPoolMiB);
  left_in_test = 520 * kPoolMiB;  // almost all: others need some
  CHECK(pool.grow(1024 * kPoolMiB) == HostPool::Growth::failed);
  CHECK(pool.pinned() == 512 * kPoolMiB);
  left_in_test = 100 * kPoolMiB;
  CHECK(pool.grow(576 * kPoolMiB) == HostPool::Growth::done);
  left_in_test = 0;
  CHECK(pool.take(600 * kPoolMiB) == nullptr);
}

TEST_CASE("For a large piece, small free segments are unpinned", "[live][memory]") {
  FakeMemory driver(1 << 30);
  HostPool pool(driver, [] { return std::uint64_t{1} << 40; });
  void* held = nullptr;
  for (int n = 1; n <= 4; ++n) {
    REQUIRE(pool.grow(n * 32 * kPoolMiB) == HostPool::Growth::done);
    if (n == 1) held = pool.take(8 * kPoolMiB);
  }
  REQUIRE(pool.pinned() == 128 * kPoolMiB);
  // The system may have put segments side by side, so that they are one.
  void* const large = pool.take(120 * kPoolMiB);
  REQUIRE(large != nullptr);
  std::uint64_t pinned = 0;
  for (const auto& [at, size] : driver.pinned) pinned += size;
  CHECK(pinned == pool.pinned());
  CHECK(pool.pinned() <= 160 * kPoolMiB);  // as what is in use lies in one of them
  pool.give_back(held, 8 * kPoolMiB);
  pool.give_back(large, 120 * kPoolMiB);
  CHECK(pool.take(120 * kPoolMiB) == large);
}

TEST_CASE("What a thread frees goes back while another one pins more", "[live][memory]") {
  constexpr std::uint64_t kSize = 2 * kPoolMiB;
  constexpr int kPieces = 300;
  FakeMemory driver(1 << 30);
  HostPool pool(driver, [] { return std::uint64_t{1} << 40; });
  REQUIRE(pool.grow(kPieces * kSize) == HostPool::Growth::more);
  REQUIRE(pool.grow(kPieces * kSize) == HostPool::Growth::done);
  std::vector<void*> taken;
  for (int n = 0; n < kPieces; ++n) taken.push_back(pool.take(kSize));
  std::thread mover([&] {
    for (std::uint64_t n = 1; n <= kPieces; ++n) pool.grow((kPieces + n) * kSize);
  });
  for (void* piece : taken) pool.give_back(piece, kSize);
  mover.join();
  CHECK(pool.pinned() == 2 * kPieces * kSize);
  std::set<void*> again;
  for (int n = 0; n < 2 * kPieces; ++n) again.insert(pool.take(kSize));
  CHECK(again.size() == 2 * kPieces);
  CHECK(again.count(nullptr) == 0);
  CHECK(pool.pinned() == 2 * kPieces * kSize);
}

}  // namespace
}  // namespace gangway::live

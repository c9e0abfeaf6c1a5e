// Pinned memory of a client.
#include "hw/live/memory/host_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <vector>

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

}  // namespace
}  // namespace gangway::live

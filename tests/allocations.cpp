#include "tests/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local std::int64_t count = 0;
}

std::int64_t gangway::testing::allocations() { return count; }

#ifdef GANGWAY_COUNTS_ALLOCATIONS
// Not inlined, as GCC 12 then sees memory of malloc() deleted.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++count;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

#include "hw/live/memory/host_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace gangway::live {
namespace {

// What is pinned at once: each call holds up the program's driver calls for its time.
constexpr std::uint64_t kSegment = 512 << 20;
constexpr std::uint64_t kKept = 16;           // one of so many bytes that are left stays for others
constexpr std::uint64_t kTouched = 64 << 20;  // at least, by each thread

}  // namespace

// Pages are there before they are pinned, in large ones where the system has them: the driver pins those
// several times as fast as it makes them itself.
void touch_pages(char* at, std::uint64_t size, long cores) {
  const auto range = [](char* begin, const char* end) {
    for (; begin < end; begin += 4096) *static_cast<volatile char*>(begin) = 0;
  };
  const std::uint64_t most = std::clamp<std::uint64_t>(size / kTouched, 1, 8);
  const std::uint64_t count =
      std::min<std::uint64_t>(most, cores > 1 ? static_cast<std::uint64_t>(cores) / 2 : 1);
  std::vector<std::thread> threads;
  threads.reserve(count);
  const std::uint64_t share = size / count;
  std::uint64_t rest = size;  // begins behind what this thread and the others touch
  try {
    for (std::uint64_t t = 1; t < count; ++t) {
      rest = t * share;
      threads.emplace_back(range, at + rest, t + 1 == count ? at + size : at + rest + share);
      rest = size;
    }
  } catch (const std::system_error&) {
  }
  range(at, at + share);
  range(at + rest, at + size);
  for (std::thread& thread : threads) thread.join();
}

bool HostPool::pin(std::uint64_t size) {
  constexpr std::uint64_t kLargePage = 2 << 20;
  if (const std::uint64_t left = left_(); size > left - left / kKept) return false;
  void* mapped = mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  const auto begin = (reinterpret_cast<std::uint64_t>(mapped) + kLargePage - 1) / kLargePage * kLargePage;
  auto* at = reinterpret_cast<char*>(begin);
  madvise(at, size, MADV_HUGEPAGE);
  madvise(at, size, MADV_DONTFORK);  // a child would take a copy of what it never uses
  if (driver_.pin(at, size) != MemoryDriver::kSuccess) {
    munmap(mapped, size + kLargePage);
    return false;
  }
  const std::lock_guard lock(mutex_);
  segments_.push_back({{begin, begin + size}, mapped});
  slots_.add({begin, begin + size});
  slots_.back({begin, begin + size});
  return true;
}

// Segments that nothing is in, until so many bytes have gone.
void HostPool::unpin_free(std::uint64_t size) {
  constexpr std::uint64_t kLargePage = 2 << 20;
  std::uint64_t gone = 0;
  std::erase_if(segments_, [&](const Segment& segment) {
    const Heap::Span& span = segment.span;
    if (gone >= size || !slots_.is_free(span)) return false;
    if (driver_.unpin(reinterpret_cast<void*>(span.begin)) != MemoryDriver::kSuccess) return false;
    slots_.unback(span);
    slots_.take(span);  // its addresses may be another's soon
    munmap(segment.mapped, span.size() + kLargePage);
    gone += span.size();
    return true;
  });
}

HostPool::Growth HostPool::grow(std::uint64_t bytes) {
  if (pinned() >= bytes) return Growth::done;
  const std::uint64_t missing = (bytes - pinned() + (2 << 20) - 1) / (2 << 20) * (2 << 20);
  if (!pin(std::min(missing, kSegment))) return Growth::failed;
  return pinned() >= bytes ? Growth::done : Growth::more;
}

void* HostPool::take_free(std::uint64_t size) {
  const auto plan = slots_.plan(size, false);
  if (!plan || !plan->to_back.empty()) return nullptr;
  slots_.take(plan->taken);
  return reinterpret_cast<void*>(plan->taken.begin);
}

void* HostPool::take(std::uint64_t size) {
  {
    const std::lock_guard lock(mutex_);
    if (void* const free = take_free(size)) return free;
    unpin_free(slots_.rounded(size));
  }
  if (!pin(slots_.rounded(size))) return nullptr;
  const std::lock_guard lock(mutex_);
  return take_free(size);
}

void HostPool::give_back(void* at, std::uint64_t size) {
  const auto begin = reinterpret_cast<std::uint64_t>(at);
  const std::lock_guard lock(mutex_);
  slots_.free({begin, begin + size});
}

std::uint64_t HostPool::pinned() const {
  const std::lock_guard lock(mutex_);
  return slots_.backed();
}

}  // namespace gangway::live

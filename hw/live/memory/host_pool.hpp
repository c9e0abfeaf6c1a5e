// Pinned host memory for contents that leave the device. Pinning is slow and delays the program's driver
// calls, so it is done ahead of need, and what is pinned is kept.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "hw/live/memory/heap.hpp"
#include "hw/live/memory/memory_driver.hpp"
#include "hw/live/memory/pinnable_memory.hpp"

namespace gangway::live {

// Populates the pages with several threads on half of the cores, so that pinning them takes less time; with
// fewer where the system has no more threads.
void touch_pages(char* at, std::uint64_t size, long cores);

class HostPool {
 public:
  // `left`: the bytes that this machine has left, asked before each segment.
  explicit HostPool(MemoryDriver& driver, std::uint64_t (*left)() = &host_memory_left)
      : driver_(driver), left_(left) {}
  // Pins one more segment unless `bytes` are pinned already. Call it again while it returns `more`. `failed`:
  // the driver refuses, or the machine has no more.
  enum class Growth { done, more, failed };
  Growth grow(std::uint64_t bytes);
  // Null: too little is free, and no more could be pinned. What is free lies in pieces; if none is large
  // enough, whole free segments are unpinned, and one of this size is pinned for them.
  void* take(std::uint64_t size);
  void give_back(void* at, std::uint64_t size);
  std::uint64_t pinned() const;

 private:
  struct Segment {
    Heap::Span span;
    void* mapped = nullptr;
  };
  bool pin(std::uint64_t size);
  void* take_free(std::uint64_t size);
  void unpin_free(std::uint64_t size);

  // A thread of the program gives back what it frees while the mover pins more. Not held while the driver
  // pins.
  mutable std::mutex mutex_;
  MemoryDriver& driver_;
  std::uint64_t (*const left_)();
  std::vector<Segment> segments_;
  Heap slots_{{2 << 20, 2 << 20, 2 << 20, std::uint64_t{1} << 40}};
};

}  // namespace gangway::live

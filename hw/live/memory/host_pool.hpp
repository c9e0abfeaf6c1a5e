// Pinned host memory for contents that leave the device. Pinning is slow and delays the program's driver
// calls, so it is done ahead of need, and memory stays pinned until the process ends.
#pragma once

#include <cstdint>

#include "hw/live/memory/heap.hpp"
#include "hw/live/memory/memory_driver.hpp"

namespace gangway::live {

// Populates the pages with several threads on half of the cores, so that pinning them takes less time; with
// fewer where the system has no more threads.
void touch_pages(char* at, std::uint64_t size, long cores);

class HostPool {
 public:
  explicit HostPool(MemoryDriver& driver) : driver_(driver) {}
  // Pins one more segment unless `bytes` are pinned already. Call it again while it returns `more`.
  enum class Growth { done, more, failed };
  Growth grow(std::uint64_t bytes);
  // Null: too little is free, and no more could be pinned.
  void* take(std::uint64_t size);
  void give_back(void* at, std::uint64_t size);
  std::uint64_t pinned() const { return slots_.backed(); }

 private:
  bool pin(std::uint64_t size);

  MemoryDriver& driver_;
  Heap slots_{{2 << 20, 2 << 20, 2 << 20, std::uint64_t{1} << 40}};
};

}  // namespace gangway::live

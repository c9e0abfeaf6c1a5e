// Pinned host memory for contents that leave the device. Pinning is slow and holds up the program's driver,
// so it is done ahead and never undone while the process lives.
#pragma once

#include <cstdint>

#include "hw/live/memory/heap.hpp"
#include "hw/live/memory/memory_driver.hpp"

namespace gangway::live {

// Makes the pages be there, by several threads: pinning them takes less time then.
void touch_pages(char* at, std::uint64_t size);

class HostPool {
 public:
  explicit HostPool(MemoryDriver& driver) : driver_(driver) {}
  // Pins until there are so many bytes, a segment at a time: call it until it says done. No `failed` again.
  enum class Growth { done, more, failed };
  Growth grow(std::uint64_t bytes);
  // Null: there is no room, and none could be pinned.
  void* take(std::uint64_t size);
  void give_back(void* at, std::uint64_t size);
  std::uint64_t pinned() const { return slots_.backed(); }

 private:
  bool pin(std::uint64_t size);

  MemoryDriver& driver_;
  Heap slots_{{2 << 20, 2 << 20, 2 << 20, std::uint64_t{1} << 40}};
};

}  // namespace gangway::live

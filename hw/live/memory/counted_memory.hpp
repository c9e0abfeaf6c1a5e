// Counts a client's device memory, which the driver allocates as usual, so that the whole process can be
// checkpointed when others need the room (../checkpoint/).
#pragma once

#include <cstdint>
#include <optional>

#include "hw/live/gate.hpp"
#include "hw/live/memory/claims.hpp"
#include "hw/live/memory/memory_driver.hpp"

namespace gangway::live {

class CountedMemory {
 public:
  CountedMemory(MemoryDriver& driver, Gate& gate);
  // Call it before the driver allocates them, and hold what it returns until then. None: there is no room.
  std::optional<ChangesMemory> claim(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  int info(std::uint64_t& free, std::uint64_t& total);  // the device's bytes as the program sees them

 private:
  MemoryDriver& driver_;
  Gate& gate_;
  Claims claims_;
};

}  // namespace gangway::live

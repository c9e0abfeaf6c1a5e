// Counts a client's device memory, which the driver allocates as usual, so that the whole process can be
// checkpointed when others need the room (../checkpoint/).
#pragma once

#include <cstdint>

#include "hw/live/gate.hpp"
#include "hw/live/memory/claims.hpp"
#include "hw/live/memory/memory_driver.hpp"

namespace gangway::live {

class CountedMemory {
 public:
  CountedMemory(MemoryDriver& driver, Gate& gate);
  bool claim(std::uint64_t bytes);  // before the driver allocates them. False: there is no room
  void give_back(std::uint64_t bytes);
  int info(std::uint64_t& free, std::uint64_t& total);  // the device's bytes as the program sees them

 private:
  MemoryDriver& driver_;
  Gate& gate_;
  Claims claims_;
};

}  // namespace gangway::live

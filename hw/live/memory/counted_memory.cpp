#include "hw/live/memory/counted_memory.hpp"

#include <algorithm>

namespace gangway::live {

CountedMemory::CountedMemory(MemoryDriver& driver, Gate& gate) : driver_(driver), gate_(gate), claims_(gate) {
  gate.introduce();
  gate.page()->memory.kind.store(static_cast<std::uint32_t>(MemoryKind::counted));
  claims_.look_at_device(driver_);
}

std::optional<ChangesMemory> CountedMemory::claim(std::uint64_t bytes) {
  for (;;) {
    {
      ChangesMemory changes(gate_);
      if (claims_.claim(bytes)) {
        gate_.page()->memory.movable.fetch_add(bytes);
        return changes;
      }
    }
    claims_.look_at_device(driver_);
    const auto look = [this] { claims_.look_at_device(driver_); };
    if (claims_.ask(bytes, look) == Claims::Answer::no) return std::nullopt;
  }
}

void CountedMemory::give_back(std::uint64_t bytes) {
  gate_.page()->memory.movable.fetch_sub(bytes);
  claims_.give_back(bytes);
}

int CountedMemory::info(std::uint64_t& free, std::uint64_t& total) {
  if (const int failed = driver_.info(free, total)) return failed;
  const MemoryOrders* orders = gate_.memory_orders();
  if (orders == nullptr) return MemoryDriver::kSuccess;
  const std::uint64_t used = gate_.page()->memory.claimed.load(), available = orders->available.load();
  free = std::min(available > used ? available - used : 0, total);
  return MemoryDriver::kSuccess;
}

}  // namespace gangway::live

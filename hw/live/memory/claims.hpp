// The client's side of its budget: claims before memory is created, and asks where the budget is too small.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "hw/live/gate.hpp"
#include "hw/live/memory/memory_driver.hpp"
#include "hw/live/memory/memory_page.hpp"

namespace gangway::live {

class Claims {
 public:
  explicit constexpr Claims(Gate& gate) : gate_(gate) {}

  // The pages must be there (Gate::introduce()). Without a daemon everything is allowed.
  bool claim(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  // The daemon grants so many bytes more, or says no; the caller holds no lock. Again: what the caller knows
  // may have changed, so it should look and claim again.
  enum class Answer { again, no };
  // `look`: called now and then meanwhile, as what the device has may change.
  Answer ask(std::uint64_t bytes, const std::function<void()>& look);
  void look_at_device(MemoryDriver& driver);  // and tells the daemon
  // Waits for the client's turn, as a submission does.
  void wait_at_gate();

 private:
  Gate& gate_;
  std::mutex asking_;  // one ask at a time, as it says how much
};

}  // namespace gangway::live

// The client's side of its memory budget: claims bytes before memory is created, and asks the daemon for more
// if the budget is too small.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "hw/live/gate.hpp"
#include "hw/live/memory/memory_driver.hpp"
#include "hw/live/memory/memory_page.hpp"

namespace gangway::live {

// A call that gets or frees memory. The driver can take milliseconds, in which the client must not seem idle.
class ChangesMemory {
 public:
  explicit ChangesMemory(Gate& gate) : page_(gate.page()) {
    if (page_ != nullptr) page_->memory.changing.fetch_add(1);
  }
  ChangesMemory(ChangesMemory&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
  ~ChangesMemory() { end(); }
  // It waits for others to free some: they may have the device meanwhile.
  void end() {
    if (page_ != nullptr) page_->memory.changing.fetch_sub(1);
    page_ = nullptr;
  }
  ChangesMemory& operator=(ChangesMemory&&) = delete;

 private:
  ClientPage* page_;
};

class Claims {
 public:
  explicit constexpr Claims(Gate& gate) : gate_(gate) {}

  // Call Gate::introduce() first. Without a daemon every claim succeeds. False: the budget is too small.
  bool claim(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  // Waits until the daemon grants `bytes` more or refuses. The caller must hold no lock. Answer::again: the
  // situation may have changed, so the caller should look and claim again.
  enum class Answer { again, no };
  // `look` is called now and then meanwhile, since the device's free memory may change.
  Answer ask(std::uint64_t bytes, const std::function<void()>& look);
  void look_at_device(MemoryDriver& driver);  // reports free and total memory to the daemon
  // Waits for the client's turn, as a submission does.
  void wait_at_gate();

 private:
  Gate& gate_;
  std::mutex asking_;  // one ask at a time: the page holds one amount
};

}  // namespace gangway::live

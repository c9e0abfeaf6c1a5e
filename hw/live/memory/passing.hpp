// The client's end of passing memory on (passed_memory.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "hw/live/gate.hpp"
#include "hw/live/memory/passed_memory.hpp"

namespace gangway::live {

// Any thread may call it.
class Passing {
 public:
  explicit Passing(Gate& gate) : gate_(gate) {}

  // Whether there is a daemon that takes pieces.
  bool possible() const { return gate_.passing() >= 0 && gate_.memory_orders() != nullptr; }
  // Passes on what is mapped and held nowhere in this process. `number`: as it was lent; 0: `file` is its
  // file, which stays the caller's. False: it is freed.
  bool pass(std::uint64_t number, std::uint64_t size, int file);
  void freed(std::uint64_t number);  // a piece that was lent
  struct Lent {
    std::uint64_t number = 0;
    Descriptor file;
  };
  // The next piece of that size that the daemon has lent, and frees what comes before it. The daemon lends
  // before it raises the budget: so claim first, then look here, and create memory only if there is none.
  std::optional<Lent> lent(std::uint64_t size);
  void decline();  // frees all that was lent and not taken
  // The file of a piece that the mover has open; -1: none. A child would keep the piece on the device.
  void opened(int file) { open_.store(file); }
  void forked();  // in the child

 private:
  bool send(const PassNote& note, int file = -1);
  void say_freed();

  Gate& gate_;
  std::mutex mutex_;
  // Of which the daemon could not be told yet: numbers, and bytes of what was declined.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> freed_;
  std::atomic<int> open_{-1};
};

}  // namespace gangway::live

// The thread of a client that carries out the daemon's orders about its memory: contents go to the host and
// come back, a piece at a time, so that another client's can take the room at the same time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "hw/live/memory/managed_memory.hpp"
#include "hw/live/registration.hpp"

namespace gangway::live {

class Mover {
 public:
  Mover(ManagedMemory& memory, Helped& helped) : memory_(memory), helped_(helped) {}
  void start();  // its thread, which never ends

  // One look at the orders, as the thread takes it. True: there was something to do.
  bool turn();

 private:
  struct Order {
    const MemoryOrders* from = nullptr;
    std::uint32_t number = 0;
    Goal goal = Goal::here;
    bool operator==(const Order& other) const {
      return from == other.from && number == other.number && goal == other.goal;
    }
  };
  struct Copying {
    Chunk* chunk = nullptr;
    std::uint64_t address = 0;
    unsigned lane = 0;
  };
  static void* run(void* self);
  Order latest() const;
  void give_up(const Order& order);
  bool prepare_host();
  void save(const Order& order);
  void restore(const Order& order);
  bool finish_oldest(MemoryDriver::Way way);
  void look_for_writes();
  std::uint64_t work_begun() const;
  bool is_as_declared(Chunk& chunk, ChunkMoves& moves);
  bool copy_out(void* to, std::uint64_t from, std::uint64_t size);

  ManagedMemory& memory_;
  Helped& helped_;
  std::deque<Copying> copying_;
  unsigned lane_ = 0;
  int failed_ = 0;                 // of the order under way
  std::optional<Order> given_up_;  // with it nothing more is tried
  std::uint64_t begun_here_ = 0;   // of the program's work, when its state had come back
};

}  // namespace gangway::live

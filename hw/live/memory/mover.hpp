// The thread of a client that carries out the daemon's orders about its memory: contents go to the host and
// come back, a piece at a time, so that another client's can take the room at the same time.
#pragma once

#include <cstddef>
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
    std::size_t part = 0;
    std::uint64_t address = 0;  // of the chunk
    unsigned lane = 0;
  };
  static void* run(void* self);
  Order latest() const;
  void give_up(const Order& order);
  bool prepare_host();
  void save(const Order& order);
  void restore(const Order& order);
  // Of its parts, in order; `finish` ends the oldest copy. False: not all of them are under way or done.
  template <typename Finish>
  bool copy_parts(MemoryDriver::Way way, Chunk& chunk, std::uint64_t address, const Finish& finish);
  // Ends all copies; the first error counts.
  template <typename Finish>
  void drain(const Finish& finish);
  // Also whether the oldest copy was the last of its chunk, and then, whether all of them are right.
  enum class Finished { part, chunk, torn };
  Finished finish_oldest(MemoryDriver::Way way);
  void look_for_writes();
  std::uint64_t work_begun() const;
  bool is_as_declared(Chunk& chunk, ChunkMoves& moves);
  bool copy_out(void* to, std::uint64_t from, std::uint64_t size);

  ManagedMemory& memory_;
  Helped& helped_;
  std::deque<Copying> copying_;
  bool torn_ = false;  // a copy of the chunk whose parts end now has failed
  unsigned lane_ = 0;
  int failed_ = 0;                 // of the order under way
  std::optional<Order> given_up_;  // with it nothing more is tried
  std::uint64_t begun_here_ = 0;   // of the program's work, when its state had come back
};

}  // namespace gangway::live

// The thread of a client that carries out the daemon's orders about its memory: it copies contents to the
// host and back, a piece at a time, so that another client can use the freed room at once.
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
  void start();  // starts its thread, which never ends

  // One pass of the thread: looks at the orders and carries them out. True: there was something to do.
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
  // Starts copies of all parts in order; `finish` completes the oldest copy. False: not all could be started.
  template <typename Finish>
  bool copy_parts(MemoryDriver::Way way, Chunk& chunk, std::uint64_t address, const Finish& finish);
  // Completes all copies. An earlier error remains.
  template <typename Finish>
  void drain(const Finish& finish);
  // Completes the oldest copy. part: more copies of its chunk follow; chunk: it was the last, and all
  // succeeded; torn: it was the last, and one failed.
  enum class Finished { part, chunk, torn };
  Finished finish_oldest(MemoryDriver::Way way);
  void look_for_writes();
  bool is_as_declared(Chunk& chunk, ChunkMoves& moves);
  bool copy_out(void* to, std::uint64_t from, std::uint64_t size);

  ManagedMemory& memory_;
  Helped& helped_;
  std::deque<Copying> copying_;
  bool torn_ = false;  // a copy of the oldest chunk has failed
  unsigned lane_ = 0;
  int failed_ = 0;                 // error of the current order
  std::optional<Order> given_up_;  // this order is not tried again
  std::uint64_t submissions_ = 0;  // of the client, by the latest move
  std::uint64_t pinned_in_ = 0;    // the context in which nothing could be pinned, at
  std::int64_t pinned_at_ = 0;     // this time
};

}  // namespace gangway::live

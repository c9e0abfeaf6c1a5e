// What the daemon and a client tell each other of the client's device memory, on their shared pages.
//
// A client holds no more on the device than its budget: it adds to `claimed` before it creates memory, looks
// at the budget, and takes the claim back if that is too small. Who lowers a budget writes it and then reads
// `claimed`. Both are sequentially consistent, so one side sees the other: what a client may hold is the
// greater of the two, and the daemon gives that to nobody else.
#pragma once

#include <atomic>
#include <cstdint>

namespace gangway::live {

enum class Goal : std::uint32_t { here, away };  // where the daemon wants the client's state

// Written by the daemon.
struct alignas(64) MemoryOrders {
  std::atomic<std::uint32_t> number;  // of the latest order; a client sleeps on it
  std::atomic<std::uint32_t> goal;
  std::atomic<std::uint64_t> budget;  // bytes that the client may hold on the device
  std::atomic<std::uint64_t>
      available;  // bytes that it could have in all: what it takes for the device's free memory
  std::atomic<std::uint64_t> host;  // bytes of pinned memory that it should have at hand
  // Of asks for a larger budget: those up to this number that got none get none, or have to come in by the
  // gate first.
  std::atomic<std::uint64_t> refused, not_yet;
};

// Written by the client.
struct alignas(64) MemoryStanding {
  std::atomic<std::uint64_t> claimed;          // bytes that it holds on the device, or is about to
  std::atomic<std::uint64_t> movable;          // bytes of its state that can leave, wherever they are
  std::atomic<std::uint64_t> away;             // of these, not on the device
  std::atomic<std::uint64_t> fixed;            // bytes claimed that cannot leave
  std::atomic<std::uint64_t> asked, want;      // the latest ask, and the budget that it is about
  std::atomic<std::uint64_t> done;             // the latest order that is carried out, or was given up
  std::atomic<std::uint64_t> turned;           // orders that were given up: a copy failed, or memory
  std::atomic<std::uint32_t> error;            // the driver's, of the latest of them
  std::atomic<std::uint32_t> no_host;          // pinning failed at this many MiB; 0: it has not
  std::atomic<std::uint64_t> host;             // bytes of pinned memory
  std::atomic<std::uint64_t> total, free;      // of the device, when the client last looked; 0: never
  std::atomic<std::uint64_t> held;             // claimed then
  std::atomic<std::uint64_t> looks;            // so far
  std::atomic<std::uint64_t> saves, restores;  // so far
  std::atomic<std::uint64_t> saved, restored, spared;  // bytes copied; and not copied, as the host had them
  std::atomic<std::uint64_t> declared, belied;  // bytes that are said to be read only; and that were written
  std::atomic<std::int64_t> save_ns, restore_ns;  // the latest
};

}  // namespace gangway::live

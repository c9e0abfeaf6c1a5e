// What the daemon and a client tell each other of the client's device memory, on their shared pages.
//
// A client holds no more on the device than its budget: where that is large enough, it adds to `claimed`
// before it creates memory, looks at the budget again, and takes the claim back if that is too small by now.
// To lower a budget, the daemon writes it and then reads `claimed`. All of this is sequentially consistent,
// so at least one side sees the other: a client may hold the greater of the two, and the daemon gives that to
// no other client. A claim that will be taken back is no reason to raise a budget.
#pragma once

#include <atomic>
#include <cstdint>

namespace gangway::live {

enum class Goal : std::uint32_t { here, away };  // where the daemon wants the client's state

// How a client holds its memory, from its first allocation on: native, none is counted; managed, in pieces
// that its own process moves; counted, as the driver allocates it, so that only checkpoints can move it.
enum class MemoryKind : std::uint32_t { native, managed, counted };

// Written by the daemon.
struct alignas(64) MemoryOrders {
  std::atomic<std::uint32_t> number;  // of the latest order; a client sleeps on it
  std::atomic<std::uint32_t> goal;
  std::atomic<std::uint64_t> budget;     // bytes that the client may hold on the device
  std::atomic<std::uint64_t> available;  // bytes it could hold in all; its program sees the unused as free
  std::atomic<std::uint64_t> host;       // bytes of pinned memory that it should keep ready
  std::atomic<std::uint64_t> pass;       // pieces of this size are passed on when they leave; 0: none
  // Asks for a larger budget, up to these numbers, that have not been granted: `refused` ones fail, `not_yet`
  // ones must pass the gate first.
  std::atomic<std::uint64_t> refused, not_yet;
};

// Written by the client.
struct alignas(64) MemoryStanding {
  std::atomic<std::uint32_t> kind;         // MemoryKind
  std::atomic<std::uint64_t> claimed;      // bytes that it holds on the device, or is about to
  std::atomic<std::uint64_t> movable;      // bytes of its state that can leave, wherever they are
  std::atomic<std::uint64_t> away;         // bytes of these that are not on the device
  std::atomic<std::uint64_t> fixed;        // bytes claimed that cannot leave
  std::atomic<std::uint64_t> asked, want;  // number of the latest ask, and the budget that it wants
  std::atomic<std::uint32_t> changing;     // threads in calls that get or free memory
  std::atomic<std::uint64_t> done;         // the latest order that was carried out or given up
  std::atomic<std::uint64_t> piece;        // size of the next piece that comes, if it can be lent; 0: none
  std::atomic<std::uint64_t> lent;         // bytes lent to it so far that it has taken or declined
  std::atomic<std::uint64_t> turned;       // orders given up because a copy or an allocation failed
  std::atomic<std::uint32_t> error;        // the driver's, at the latest of them
  std::atomic<std::uint32_t> no_host;      // pinning failed at this many MiB; 0: it has not
  std::atomic<std::uint64_t> host;         // bytes of pinned memory
  std::atomic<std::uint64_t> total, free;  // of the device, when the client last looked; 0: never
  std::atomic<std::uint64_t> held;         // `claimed` at that look
  std::atomic<std::uint64_t> looks;        // so far
  std::atomic<std::uint64_t> saves, restores;          // so far
  std::atomic<std::uint64_t> saved, restored, spared;  // bytes copied; not copied, as the host had them
  std::atomic<std::uint64_t> passed;                   // bytes passed on to other clients
  std::atomic<std::uint64_t> declared, belied;         // bytes declared read-only; found written
  std::atomic<std::int64_t> save_ns, restore_ns;       // how long the latest took
};

}  // namespace gangway::live

#include "hw/live/memory/mover.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "hw/live/kill_points.hpp"
#include "hw/live/monotonic.hpp"
#include "hw/live/pause.hpp"

namespace gangway::live {
namespace {

using Way = MemoryDriver::Way;

constexpr std::int64_t kMoverSleep = 50'000'000;       // ns; then it looks whether the daemon is still there
constexpr std::int64_t kBetweenCopyLooks = 10'000;     // ns, at copies and for room
constexpr std::int64_t kBetweenPins = 10'000'000'000;  // ns, after a failure: others may have given some back
constexpr std::int64_t kMostRetries = 2'000'000'000;   // ns, for memory that the daemon has granted

void sleep_until_ordered(const MemoryOrders& orders, std::uint32_t number) {
  const timespec limit{0, kMoverSleep};
  syscall(SYS_futex, &orders.number, FUTEX_WAIT, number, &limit, nullptr, 0);
}

}  // namespace

void Mover::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &Mover::run, this) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* Mover::run(void* self) {
  auto& mover = *static_cast<Mover*>(self);
  pthread_setname_np(pthread_self(), "gangway-memory");
  mover.helped_.helper_begins();
  for (;;) {
    const Order order = mover.latest();
    if (mover.turn()) continue;
    if (order.from != nullptr)
      sleep_until_ordered(*order.from, order.number);
    else
      sleep_ns(kMoverSleep);
  }
}

Mover::Order Mover::latest() const {
  Order order;
  order.from = memory_.gate().memory_orders();
  if (order.from == nullptr) return order;
  do {
    order.number = order.from->number.load();
    order.goal = static_cast<Goal>(order.from->goal.load());
  } while (order.from->number.load() != order.number);
  return order;
}

bool Mover::turn() {
  const Order order = latest();
  MemoryStanding& standing = memory_.gate().page()->memory;
  const bool here = memory_.all_here();
  const bool away = standing.away.load() == standing.movable.load();
  if (here && order.goal == Goal::here) memory_.gate().memory_is_here();
  if ((order.goal == Goal::here ? here : away) || order == given_up_) {
    memory_.passing().decline();
    if (order.from != nullptr) standing.done.store(order.number);
    return prepare_host();
  }
  const LiveContexts::Use use(memory_.contexts());
  failed_ = memory_.driver().enter(use.context());
  if (failed_ == MemoryDriver::kSuccess && order.goal == Goal::here)
    restore(order);
  else if (failed_ == MemoryDriver::kSuccess)
    save(order);
  memory_.note_device();
  if (failed_ != MemoryDriver::kSuccess) give_up(order);
  return true;
}

// Without a daemon nobody will order it again; and if another order has come meanwhile, it was no longer
// waited for memory.
void Mover::give_up(const Order& order) {
  if (order.from == nullptr) return sleep_ns(kMoverSleep);
  given_up_ = order;
  MemoryStanding& standing = memory_.gate().page()->memory;
  standing.error.store(static_cast<std::uint32_t>(failed_));
  if (failed_ != MemoryDriver::kNoMemory || latest() == order) standing.turned.fetch_add(1);
}

// Pins ahead of what the daemon foresees.
bool Mover::prepare_host() {
  const MemoryOrders* orders = memory_.gate().memory_orders();
  if (orders == nullptr) return false;
  MemoryStanding& standing = memory_.gate().page()->memory;
  const std::uint64_t wanted = orders->host.load();
  const std::uint64_t context = memory_.contexts().latest();
  if (memory_.host().pinned() >= wanted ||
      (standing.no_host.load() == static_cast<std::uint32_t>(wanted >> 20) && context == pinned_in_ &&
       monotonic_ns() - pinned_at_ < kBetweenPins))
    return false;
  const LiveContexts::Use use(memory_.contexts(), context);
  pinned_in_ = context;
  pinned_at_ = monotonic_ns();
  const bool entered = memory_.driver().enter(use.context()) == MemoryDriver::kSuccess;
  const HostPool::Growth growth = entered ? memory_.host().grow(wanted) : HostPool::Growth::failed;
  standing.host.store(memory_.host().pinned());
  standing.no_host.store(growth == HostPool::Growth::failed ? static_cast<std::uint32_t>(wanted >> 20) : 0);
  return growth == HostPool::Growth::more;
}

// What the program may have written since its state came back is not the same on the host any more. The gate
// sees submissions, not what they write: one is enough, but for what nothing may write to, or no kernel.
void Mover::look_for_writes() {
  if (memory_.gate().page()->submissions() == submissions_) return;
  for (Chunk& chunk : memory_.chunks())
    if (!chunk.declared && chunk.may_be_written()) chunk.same_on_host = false;
}

bool Mover::copy_out(void* to, std::uint64_t from, std::uint64_t size) {
  failed_ = memory_.driver().copy(Way::out, to, from, size, 0);
  while (failed_ == MemoryDriver::kSuccess || failed_ == MemoryDriver::kNotYet) {
    failed_ = memory_.driver().copied(Way::out, 0);
    if (failed_ == MemoryDriver::kSuccess) return true;
    sleep_ns(kBetweenCopyLooks);
  }
  return false;
}

// Of one that would not be copied. If it has changed, what is there now is what counts, and its user is told.
bool Mover::is_as_declared(Chunk& chunk, ChunkMoves& moves) {
  if (!chunk.declared || !memory_.checks()) return true;
  void* const now = memory_.host().take(chunk.part_size(0));
  if (now == nullptr) return false;
  std::uint64_t address = 0;
  failed_ = moves.begin_access(chunk, address);
  bool copied = failed_ == MemoryDriver::kSuccess, same = copied;
  for (std::size_t part = 0; part < chunk.parts() && same; ++part) {
    const std::uint64_t size = chunk.part_size(part);
    copied = copy_out(now, address + part * Chunk::kPart, size);
    same = copied && std::memcmp(now, chunk.host[part], size) == 0;
  }
  moves.end_access(address, chunk.size);
  memory_.host().give_back(now, chunk.part_size(0));
  if (!copied || same) return same;
  chunk.declared = false;
  MemoryStanding& standing = memory_.gate().page()->memory;
  standing.declared.fetch_sub(chunk.size);
  if (standing.belied.fetch_add(chunk.size) == 0)
    std::fprintf(stderr, "gangway: process %d: memory that was declared read-only was written by a kernel\n",
                 static_cast<int>(getpid()));
  return false;
}

template <typename Finish>
bool Mover::copy_parts(Way way, Chunk& chunk, std::uint64_t address, const Finish& finish) {
  for (std::size_t part = 0; part < chunk.parts(); ++part) {
    while (copying_.size() >= MemoryDriver::kLanes) finish();
    if (failed_ != MemoryDriver::kSuccess) return false;
    const Copying copying{&chunk, part, address, lane_++ % MemoryDriver::kLanes};
    failed_ = memory_.driver().copy(way, chunk.host[part], address + part * Chunk::kPart,
                                    chunk.part_size(part), copying.lane);
    if (failed_ != MemoryDriver::kSuccess) return false;
    copying_.push_back(copying);
  }
  return true;
}

template <typename Finish>
void Mover::drain(const Finish& finish) {
  const int failed = failed_;
  while (!copying_.empty()) finish();
  if (failed != MemoryDriver::kSuccess) failed_ = failed;
  torn_ = false;
}

Mover::Finished Mover::finish_oldest(Way way) {
  const Copying copying = copying_.front();
  int result = memory_.driver().copied(way, copying.lane);
  while (result == MemoryDriver::kNotYet) {
    sleep_ns(kBetweenCopyLooks);
    result = memory_.driver().copied(way, copying.lane);
  }
  copying_.pop_front();
  Chunk& chunk = *copying.chunk;
  if (result == MemoryDriver::kSuccess) {
    MemoryStanding& standing = memory_.gate().page()->memory;
    (way == Way::out ? standing.saved : standing.restored).fetch_add(chunk.part_size(copying.part));
  } else {
    failed_ = result;
    torn_ = true;
  }
  if (copying.part + 1 < chunk.parts()) return Finished::part;
  if (std::exchange(torn_, false)) return Finished::torn;
  chunk.same_on_host = true;
  return Finished::chunk;
}

void Mover::save(const Order& order) {
  ChunkMoves moves(memory_.driver(), memory_.passing());
  MemoryStanding& standing = memory_.gate().page()->memory;
  const std::int64_t began = monotonic_ns();
  memory_.gate().memory_leaves();
  memory_.begin_move(Goal::away);
  look_for_writes();
  submissions_ = memory_.gate().page()->submissions();
  const auto gone = [&](Chunk& chunk, std::uint64_t address) {
    moves.end_access(address, chunk.size);
    const MemoryOrders* const orders = memory_.gate().memory_orders();
    const bool pass = chunk.passable && orders != nullptr && orders->pass.load() == chunk.size;
    ChunkMoves::Left left{};
    if (const int failed = moves.leave(chunk, pass, left)) {  // whatever becomes of those behind it
      failed_ = failed;
      return;
    }
    if (left == ChunkMoves::Left::passed) {
      standing.passed.fetch_add(chunk.size);
      GANGWAY_POINT("piece-passed");
    }
    memory_.moved_away(chunk.size);
    memory_.claims().give_back(chunk.size);
    memory_.divide(chunk);
    GANGWAY_POINT("chunk-left");
  };
  const auto finish = [&] {
    const Copying copying = copying_.front();
    const Finished finished = finish_oldest(Way::out);
    if (finished == Finished::chunk) gone(*copying.chunk, copying.address);
    if (finished == Finished::torn) moves.end_access(copying.address, copying.chunk->size);
  };
  for (Chunk& chunk : memory_.chunks()) {
    if (failed_ != MemoryDriver::kSuccess || !(latest() == order)) break;
    if (chunk.fixed || !chunk.on_device()) continue;
    if (chunk.same_on_host && chunk.declared && memory_.checks())
      while (!copying_.empty()) finish();
    const bool same = chunk.same_on_host && failed_ == MemoryDriver::kSuccess && is_as_declared(chunk, moves);
    if (failed_ != MemoryDriver::kSuccess) break;
    if (same) {
      standing.spared.fetch_add(chunk.size);
      gone(chunk, 0);
      continue;
    }
    const bool room = chunk.take_host(memory_.host());
    standing.host.store(memory_.host().pinned());
    if (!room) {
      failed_ = MemoryDriver::kNoMemory;
      break;
    }
    while (copying_.size() >= MemoryDriver::kLanes) finish();
    if (failed_ != MemoryDriver::kSuccess) break;
    std::uint64_t address = 0;
    failed_ = moves.begin_access(chunk, address);
    if (failed_ != MemoryDriver::kSuccess) break;
    if (!copy_parts(Way::out, chunk, address, finish)) {
      drain(finish);
      moves.end_access(address, chunk.size);
      break;
    }
    GANGWAY_POINT("chunk-leaves");
  }
  drain(finish);
  memory_.end_move();
  standing.save_ns.store(monotonic_ns() - began);
  if (failed_ == MemoryDriver::kSuccess) standing.saves.fetch_add(1);
}

void Mover::restore(const Order& order) {
  ChunkMoves moves(memory_.driver(), memory_.passing());
  MemoryStanding& standing = memory_.gate().page()->memory;
  const std::int64_t began = monotonic_ns();
  memory_.begin_move(Goal::here);
  const auto goes_again = [&](Chunk& chunk, std::uint64_t address) {  // the host has all there is of it
    moves.end_access(address, chunk.size);
    if (moves.leave(chunk) == MemoryDriver::kSuccess) memory_.claims().give_back(chunk.size);
  };
  const auto finish = [&] {
    const Copying copying = copying_.front();
    const Finished finished = finish_oldest(Way::in);
    if (finished == Finished::part) return;
    Chunk& chunk = *copying.chunk;
    if (finished == Finished::chunk) {
      moves.end_access(copying.address, chunk.size);
      memory_.moved_here(chunk.size);
    } else {
      goes_again(chunk, copying.address);
    }
    GANGWAY_POINT("chunk-came");
  };
  const auto away = [&](auto from) {
    return std::find_if(from, memory_.chunks().end(), [](const Chunk& chunk) { return !chunk.on_device(); });
  };
  const auto comes_next = [&](auto at) {
    standing.piece.store(at != memory_.chunks().end() && at->passable ? at->size : 0);
    return at;
  };
  auto next = comes_next(away(memory_.chunks().begin()));
  while (next != memory_.chunks().end()) {
    Chunk& chunk = *next;
    while (copying_.size() >= MemoryDriver::kLanes) finish();
    bool claimed = false;
    while (failed_ == MemoryDriver::kSuccess && latest() == order && !claimed) {
      claimed = memory_.claims().claim(chunk.size);
      if (claimed) break;
      if (!copying_.empty() &&
          memory_.driver().copied(Way::in, copying_.front().lane) != MemoryDriver::kNotYet)
        finish();
      else
        sleep_ns(kBetweenCopyLooks);
    }
    if (!claimed) break;
    // What comes next is lent while this one is copied. What was lent and does not suit is freed, since its
    // room may just have been claimed.
    next = comes_next(away(std::next(next)));
    std::optional<Passing::Lent> lent = memory_.passing().lent(chunk.passable ? chunk.size : 0);
    // A client that was killed may still hold what the daemon has given on.
    const std::int64_t since = monotonic_ns();
    while ((failed_ = moves.come(chunk, std::exchange(lent, std::nullopt))) == MemoryDriver::kNoMemory &&
           monotonic_ns() - since < kMostRetries && latest() == order)
      sleep_ns(1'000'000);
    if (failed_ != MemoryDriver::kSuccess) {
      memory_.claims().give_back(chunk.size);
      break;
    }
    if (chunk.lent != 0) GANGWAY_POINT("piece-taken");
    std::uint64_t address = 0;
    failed_ = moves.begin_access(chunk, address);
    if (failed_ != MemoryDriver::kSuccess || !copy_parts(Way::in, chunk, address, finish)) {
      drain(finish);
      goes_again(chunk, address);
      break;
    }
    GANGWAY_POINT("chunk-comes");
  }
  standing.piece.store(0);
  memory_.passing().decline();
  drain(finish);
  submissions_ = memory_.gate().page()->submissions();
  memory_.end_move();
  standing.restore_ns.store(monotonic_ns() - began);
  if (memory_.all_here()) standing.restores.fetch_add(1);
}

}  // namespace gangway::live

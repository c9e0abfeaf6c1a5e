// A client's device memory, made of pieces that can leave the device and come back to the same addresses.
// Independent of CUDA: the look-alike calls it (hw/intercept/memory/), and tests call it without a driver.
//
// All of the state is on the device while the gate is open, and stays there while a thread is inside: the
// daemon moves it only when the gate is closed and nothing is outstanding. A call that needs the state at
// other times waits at the gate, as a submission does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hw/live/gate.hpp"
#include "hw/live/memory/chunk.hpp"
#include "hw/live/memory/claims.hpp"
#include "hw/live/memory/heap.hpp"
#include "hw/live/memory/host_pool.hpp"
#include "hw/live/memory/live_contexts.hpp"
#include "hw/live/memory/memory_driver.hpp"
#include "hw/live/memory/passing.hpp"

namespace gangway::live {

class ManagedMemory {
 public:
  ManagedMemory(MemoryDriver& driver, Gate& gate);
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  // While it is held, no other thread changes the state, and the client does not seem idle: who holds it
  // calls the driver for it.
  class Held {
   public:
    Held() = default;  // holds nothing
    Held(std::unique_lock<std::mutex> lock, Gate& gate) : lock_(std::move(lock)), changes_(gate) {}
    void unlock() {
      changes_.reset();
      lock_.unlock();
    }

   private:
    std::unique_lock<std::mutex> lock_;
    std::optional<ChangesMemory> changes_;
  };

  // --- Allocations, of any size, at addresses that are multiples of 512 bytes (of 2 MiB from 1 MiB on)
  struct Owner {
    std::uint64_t context = 0, pool = 0;  // context 0: it outlives contexts
    std::uint64_t current = 0;            // the caller's context
    std::int32_t device = 0;
    MemoryDriver::Properties properties{};
    std::vector<MemoryDriver::Access> access;
    bool kept = false;  // other allocations may have its memory later
  };
  struct Allocation {
    std::uint64_t address = 0, size = 0;  // as requested
    std::uint64_t context = 0, pool = 0;
    std::int32_t device = 0;
    std::uint64_t number = 0;  // no other allocation of the process has it
    bool sync_memops = false;  // as the program has set it
  };
  // The user says that no kernel writes to allocations of these sizes. With `check` they are compared with
  // the host's copy whenever they would not be copied. Call it before anything else.
  void declare_read_only(std::vector<std::uint64_t> sizes, bool check);
  bool checks() const { return check_; }
  // Notes that a copy or memset inside the gate writes to the address; 0: the address is unknown.
  void written(std::uint64_t address);

  // kSuccess; kNoMemory if the daemon or the device has none; or another error of the driver.
  int allocate(std::uint64_t size, const Owner& owner, std::uint64_t& address);
  std::optional<Allocation> find(std::uint64_t address);  // that contains the address
  bool reserved(std::uint64_t address);  // whether allocations can be there: the program cannot map anything
  void set_sync_memops(std::uint64_t address, bool set);  // of the allocation that contains the address
  // Nothing on the device may still use it. Pieces of memory that it leaves empty go, while more than `keep`
  // bytes are idle. False: no allocation begins there.
  bool free(std::uint64_t address, std::uint64_t keep = 0);
  // Gives the allocation at the address to a request of `size` bytes, as if it had been freed and allocated
  // again. False: no allocation begins there, or it is of another size class.
  bool reuse(std::uint64_t address, std::uint64_t size, const Owner& owner);
  // Allocations of one size class can be reused for each other.
  std::uint64_t size_class(std::uint64_t size) const;
  // Frees pieces that no allocation needs, while more than `keep` bytes of their kind are idle. True: there
  // was one.
  bool release_idle(std::uint64_t keep);
  LiveContexts& contexts() { return contexts_; }
  // Before the context is destroyed: nobody here uses it any more. If it stays, add it to contexts() again.
  // False: it was not known.
  bool context_ends(std::uint64_t context);
  void context_gone(std::uint64_t context);  // frees the context's allocations

  // --- Physical memory that the program creates and maps itself. Its handles are the look-alike's own.
  bool is_ours(std::uint64_t handle) const { return (handle & kHandleMask) == kHandleMark; }
  // `context`: the caller's; 0: none.
  int create(std::uint64_t size, const MemoryDriver::Properties& properties, std::uint64_t context,
             std::uint64_t& handle);
  // The next five return none if the memory is not managed here: then call the driver.
  std::optional<int> release(std::uint64_t handle);
  std::optional<int> map(std::uint64_t address, std::uint64_t size, std::uint64_t offset,
                         std::uint64_t handle);
  std::optional<int> unmap(std::uint64_t address, std::uint64_t size);
  std::optional<int> allow(std::uint64_t address, std::uint64_t size,
                           const std::vector<MemoryDriver::Access>& access);
  std::optional<std::uint64_t> retain(std::uint64_t address);
  // Keeps it on the device from now on, because others will use it. The driver's handle; 0: no such handle.
  std::uint64_t fix(std::uint64_t handle);
  void fix_mapped(std::uint64_t address, std::uint64_t size);  // likewise, all that is mapped there
  std::uint64_t real(std::uint64_t handle);  // the driver's handle, valid while here() is held

  // --- What the driver allocates by itself
  // Claims room for it, until give_back_fixed(). None: refused. Else hold it until the driver has allocated
  // it.
  std::optional<ChangesMemory> claim_fixed(std::uint64_t bytes);
  void give_back_fixed(std::uint64_t bytes);

  void note_device();  // reports the device's memory to the daemon
  // The device's bytes as the program sees them. The driver's error.
  int info(std::uint64_t& free, std::uint64_t& total);
  std::uint64_t idle();  // bytes of memory that no allocation needs now
  std::uint64_t claimed() const { return gate_.page()->memory.claimed.load(); }

  // Waits until all of the state is on the device, where it stays while the lock is held: for driver calls
  // that ask about addresses.
  Held here() { return when_here(); }
  // Likewise if the program has mapped its own memory there; else an empty lock.
  Held here_if_mapped(std::uint64_t address);
  bool is_mapped(std::uint64_t address);

  // --- The mover's steps. No other thread changes anything between begin_move() and end_move().
  void begin_move(Goal goal);
  void end_move();
  std::list<Chunk>& chunks() { return chunks_; }
  HostPool& host() { return host_; }
  Claims& claims() { return claims_; }
  Passing& passing() { return passing_; }
  MemoryDriver& driver() { return driver_; }
  Gate& gate() { return gate_; }
  // Divides a chunk that is away, as its `divides` asks: it becomes the first piece, the others follow it.
  void divide(Chunk& chunk);
  // A chunk has left or come back.
  void moved_away(std::uint64_t bytes);
  void moved_here(std::uint64_t bytes);
  bool all_here() const { return away_.load() == 0; }

 private:
  static constexpr std::uint64_t kHandleMark = 0x6741'0000'0000'0000, kHandleMask = 0xffff'0000'0000'0000;
  enum class Kind { large, small, declared };
  struct Store {  // of one device and one kind of allocations
    Heap heap;
    std::map<std::uint64_t, Chunk*> chunks;  // its memory, by address
    std::uint64_t kept = 0;                  // idle bytes that are not freed
  };
  struct Taken {
    Allocation facts;
    Heap::Span span;
    Store* store = nullptr;
  };
  struct Place {
    Chunk* chunk = nullptr;
    std::size_t mapping = 0;
  };

  Held when_here();
  Held when_still();
  Kind kind_of(std::uint64_t size) const;
  Store& store_for(Kind kind, std::int32_t device);
  bool reserve(Store& store, std::uint64_t size);
  int back(Store& store, Heap::Span to_back, const Owner& owner);
  void not_as_on_host(Store& store, Heap::Span span);
  void declare(Store& store, Heap::Span span);
  int add_chunk(std::uint64_t size, const MemoryDriver::Properties& properties, Chunk*& made);
  void remove(Chunk& chunk);
  bool trim(Store& store, Heap::Span span, std::uint64_t keep);  // true: something went
  bool trim_all(std::uint64_t keep);                             // likewise
  void release_taken(const Taken& taken, std::uint64_t keep);
  bool device_has(std::uint64_t bytes);
  int more(std::uint64_t bytes, int& attempts);
  void fix(Chunk& chunk);
  std::vector<Place> places(std::uint64_t address, std::uint64_t size);
  Claims::Answer ask(std::uint64_t bytes);

  MemoryDriver& driver_;
  Gate& gate_;
  Claims claims_;
  Passing passing_;
  HostPool host_;
  std::mutex mutex_;
  std::condition_variable still_;
  bool moving_ = false, coming_ = false, check_ = false;
  std::vector<std::uint64_t> declared_;  // sizes
  std::atomic<std::uint64_t> away_{0};
  std::list<Chunk> chunks_;
  std::map<std::pair<std::int32_t, Kind>, std::unique_ptr<Store>> stores_;
  std::map<std::uint64_t, Taken> taken_;
  std::vector<Heap::Span> reserved_;         // addresses for allocations
  std::map<std::uint64_t, Chunk*> handles_;  // the program's
  std::map<std::uint64_t, Chunk*> mapped_;   // likewise, by address of the mapping
  // The driver's numbers of its own allocations count from 1.
  std::uint64_t last_handle_ = kHandleMark, last_number_ = std::uint64_t{1} << 40;
  LiveContexts contexts_;
};

}  // namespace gangway::live

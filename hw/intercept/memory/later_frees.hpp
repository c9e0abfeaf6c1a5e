// Allocations that the program has freed and the device may still use: freed in a stream's order, or while a
// capture forbids to wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hw/intercept/driver.hpp"
#include "hw/live/memory/managed_memory.hpp"

namespace gangway::intercept {

class LaterFrees {
 public:
  using Allocation = live::ManagedMemory::Allocation;

  // Frees it in the order of a stream; `number`: the driver's of that stream, 0 if unknown; `size_class`: of
  // the allocation. CUDA_ERROR_INVALID_VALUE if it has been freed already; CUDA_ERROR_INVALID_HANDLE if the
  // stream is wrong.
  CUresult add(const Allocation& allocation, const live::StreamName& stream, std::uint64_t number,
               std::uint64_t size_class);
  // Frees it once the device has been waited for, outside captures. False: it has been freed already.
  bool add(const Allocation& allocation);
  bool has(CUdeviceptr address);  // freed, but not gone
  // Takes back an allocation of the pool and size class that was freed in this stream's order: whatever the
  // stream runs next comes after its last use.
  std::optional<Allocation> take(std::uint64_t number, std::uint64_t pool, std::uint64_t size_class);
  // Frees what nothing on the device uses any more. `wait`: all of it.
  void look(live::ManagedMemory& memory, bool wait);
  void context_gone(live::ManagedMemory& memory, std::uint64_t context);

 private:
  struct Event {
    CUevent event = nullptr;
    std::uint64_t context = 0;
  };
  struct Waiting {
    Allocation allocation;
    std::uint64_t size_class = 0;
    Event event;
  };
  using Queue = std::list<Waiting>;
  struct OfStream {
    Queue queue;                                                                      // oldest first
    std::multimap<std::pair<std::uint64_t, std::uint64_t>, Queue::iterator> by_size;  // pool, size class
  };
  bool record(const live::StreamName& stream, Event& event);
  bool record_here(const live::StreamName& stream, Event& event);
  void remove(OfStream& of, Queue::iterator which);
  void free(live::ManagedMemory& memory, OfStream& of, Queue::iterator which);

  std::mutex mutex_;
  std::map<std::uint64_t, OfStream> streams_;  // by the driver's number
  std::vector<Allocation> after_captures_;
  std::unordered_set<CUdeviceptr> all_;
  std::map<std::uint64_t, std::vector<CUevent>> spare_;  // events, by context
  std::uint64_t unknown_ = UINT64_MAX;                   // the next number of a stream without one
  std::atomic<bool> any_{false};
};

LaterFrees& later_frees();
// Nothing uses it any more.
bool free_now(live::ManagedMemory& memory, const live::ManagedMemory::Allocation& allocation);
// Waits for all that may use the allocation, in whichever context it runs. The driver's error.
CUresult synchronize_users(live::ManagedMemory& memory, const live::ManagedMemory::Allocation& allocation);

}  // namespace gangway::intercept

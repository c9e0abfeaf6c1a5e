#include "hw/intercept/memory/later_frees.hpp"

#include <iterator>

#include "hw/intercept/memory/pools.hpp"
#include "hw/intercept/memory/served.hpp"

namespace gangway::intercept {
namespace {

void wait_for(CUevent event) {
  static const auto function =
      reinterpret_cast<decltype(&cuEventSynchronize)>(real_function("cuEventSynchronize"));
  function(event);
}

CUresult synchronize_here() {
  static const auto function = reinterpret_cast<CUresult (*)()>(real_function("cuCtxSynchronize"));
  return function();
}

CUresult synchronize(live::ManagedMemory& memory, std::uint64_t context) {
  if (context == driver.current_context()) return synchronize_here();
  const live::LiveContexts::Use use(memory.contexts(), context);
  if (use.context() == 0) return CUDA_SUCCESS;  // nothing of it runs any more
  const RealDriver::InContext in(context);
  return in.failed() != CUDA_SUCCESS ? in.failed() : synchronize_here();
}

}  // namespace

// As the driver does, which knows an allocation's context. Memory of a pool belongs to none, so any context's
// work may use it; of one that a fault has ended nothing runs.
CUresult synchronize_users(live::ManagedMemory& memory, const live::ManagedMemory::Allocation& allocation) {
  if (allocation.context != 0) return synchronize(memory, allocation.context);
  const CUresult failed = synchronize_here();
  memory.contexts().add(driver.primary_context(allocation.device));
  for (const std::uint64_t context : memory.contexts().all())
    if (context != driver.current_context()) synchronize(memory, context);
  return failed;
}

LaterFrees& later_frees() {
  static auto* const made = new LaterFrees;  // threads may use it at the process's end
  return *made;
}

bool free_now(live::ManagedMemory& memory, const live::ManagedMemory::Allocation& allocation) {
  const auto pool = reinterpret_cast<CUmemoryPool>(allocation.pool);
  if (!memory.free(allocation.address, pool != nullptr ? pools().idle_kept(pool) : 0)) return false;
  if (pool != nullptr) pools().given_back(pool, allocation.size);
  return true;
}

// An event is recorded in its own context only, which a stream may not share with the caller.
bool LaterFrees::record(const live::StreamName& stream, Event& event) {
  if (record_here(stream, event)) return true;
  const std::uint64_t context = driver.context(stream);
  if (context == 0 || context == driver.current_context()) return false;
  const RealDriver::InContext in(context);
  return in.failed() == CUDA_SUCCESS && record_here(stream, event);
}

bool LaterFrees::record_here(const live::StreamName& stream, Event& event) {
  event.context = driver.current_context();
  std::vector<CUevent>& spare = spare_[event.context];
  if (!spare.empty()) {
    event.event = spare.back();
    spare.pop_back();
  }
  live::Driver::Event recorded = event.event;
  const bool done = driver.record(stream, recorded);
  event.event = static_cast<CUevent>(recorded);
  if (!done && event.event != nullptr) spare.push_back(event.event);
  return done;
}

CUresult LaterFrees::add(const Allocation& allocation, const live::StreamName& stream, std::uint64_t number,
                         std::uint64_t size_class) {
  const std::lock_guard lock(mutex_);
  if (all_.contains(allocation.address)) return CUDA_ERROR_INVALID_VALUE;
  Waiting waiting{allocation, size_class, {}};
  if (!record(stream, waiting.event)) return CUDA_ERROR_INVALID_HANDLE;
  OfStream& of = streams_[number != 0 ? number : unknown_--];
  of.queue.push_back(waiting);
  of.by_size.insert({{allocation.pool, size_class}, std::prev(of.queue.end())});
  all_.insert(allocation.address);
  any_.store(true);
  return CUDA_SUCCESS;
}

bool LaterFrees::add(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  if (!all_.insert(allocation.address).second) return false;
  after_captures_.push_back(allocation);
  any_.store(true);
  return true;
}

bool LaterFrees::has(CUdeviceptr address) {
  if (!any_.load()) return false;
  const std::lock_guard lock(mutex_);
  return all_.contains(address);
}

std::optional<LaterFrees::Allocation> LaterFrees::take(std::uint64_t number, std::uint64_t pool,
                                                       std::uint64_t size_class) {
  if (!any_.load() || number == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto of = streams_.find(number);
  if (of == streams_.end()) return std::nullopt;
  const auto found = of->second.by_size.find({pool, size_class});
  if (found == of->second.by_size.end()) return std::nullopt;
  const Allocation allocation = found->second->allocation;
  remove(of->second, found->second);
  return allocation;
}

// Its event is free for the next use: nobody asks for this one.
void LaterFrees::remove(OfStream& of, Queue::iterator which) {
  const auto [first, last] = of.by_size.equal_range({which->allocation.pool, which->size_class});
  for (auto at = first; at != last; ++at)
    if (at->second == which) {
      of.by_size.erase(at);
      break;
    }
  all_.erase(which->allocation.address);
  spare_[which->event.context].push_back(which->event.event);
  of.queue.erase(which);
}

void LaterFrees::free(live::ManagedMemory& memory, OfStream& of, Queue::iterator which) {
  free_now(memory, which->allocation);
  remove(of, which);
}

void LaterFrees::look(live::ManagedMemory& memory, bool wait) {
  if (!any_.load()) return;
  const std::lock_guard lock(mutex_);
  const bool captures = memory_gate().captures();
  for (auto of = streams_.begin(); of != streams_.end();) {
    Queue& queue = of->second.queue;
    if (wait && !captures && !queue.empty()) wait_for(queue.back().event.event);
    while (!queue.empty() && driver.reached(queue.front().event.event, captures))
      free(memory, of->second, queue.begin());
    of = queue.empty() ? streams_.erase(of) : std::next(of);
  }
  std::map<std::uint64_t, bool> over;  // by context: each is waited for once
  if (!captures)
    std::erase_if(after_captures_, [&](const Allocation& allocation) {
      const auto [at, first] = over.try_emplace(allocation.context);
      if (first) at->second = synchronize_users(memory, allocation) == CUDA_SUCCESS;
      if (!at->second) return false;
      free_now(memory, allocation);
      all_.erase(allocation.address);
      return true;
    });
  any_.store(!all_.empty());
}

// Nothing of it runs any more; its events are gone with it, and so will be its allocations.
void LaterFrees::context_gone(live::ManagedMemory& memory, std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  for (auto of = streams_.begin(); of != streams_.end();) {
    Queue& queue = of->second.queue;
    for (auto at = queue.begin(); at != queue.end();) {
      const auto which = at++;
      if (which->allocation.context == context)
        remove(of->second, which);
      else if (which->event.context == context)
        free(memory, of->second, which);
    }
    of = queue.empty() ? streams_.erase(of) : std::next(of);
  }
  spare_.erase(context);
  std::erase_if(after_captures_, [&](const Allocation& allocation) {
    const bool goes = allocation.context == context;
    if (goes) all_.erase(allocation.address);
    return goes;
  });
  any_.store(!all_.empty());
}

}  // namespace gangway::intercept

#include "hw/intercept/memory/pools.hpp"

#include <algorithm>

namespace gangway::intercept {
namespace {

// As the driver counts an allocation.
std::uint64_t counted(std::uint64_t size) { return (size + 511) / 512 * 512; }

}  // namespace

Pools& pools() {
  static auto* const made = new Pools;  // threads may use it at the process's end
  return *made;
}

void Pools::Count::add(std::uint64_t bytes) {
  now += bytes;
  most = std::max(most, now);
}

namespace {

// Of the device: where memory moves there is one.
CUmemoryPool default_pool() {
  static const auto of_device =
      reinterpret_cast<decltype(&cuDeviceGetDefaultMemPool)>(real_function("cuDeviceGetDefaultMemPool"));
  static const CUmemoryPool found = [] {
    CUmemoryPool pool = nullptr;
    return of_device != nullptr && of_device(&pool, 0) == CUDA_SUCCESS ? pool : nullptr;
  }();
  return found;
}

}  // namespace

// The driver may give a destroyed pool's handle out again.
void Pools::created(CUmemoryPool pool, const CUmemPoolProps& properties) {
  const std::lock_guard lock(mutex_);
  pools_.erase(pool);
  if (properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
      properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
      properties.handleTypes == CU_MEM_HANDLE_TYPE_NONE)
    pools_[pool].limit = properties.maxSize;
}

Pools::Pool* Pools::movable_one(CUmemoryPool pool) {
  const auto known = pools_.find(pool);
  if (known != pools_.end()) return &known->second;
  return pool != nullptr && pool == default_pool() ? &pools_[pool] : nullptr;
}

bool Pools::movable(CUmemoryPool pool) {
  const std::lock_guard lock(mutex_);
  return movable_one(pool) != nullptr;
}

// The driver takes whole pages.
bool Pools::has_room(CUmemoryPool pool, std::uint64_t size) {
  constexpr std::uint64_t kPage = 2 << 20;
  const std::lock_guard lock(mutex_);
  const Pool* of = movable_one(pool);
  if (of == nullptr || of->limit == 0) return true;
  const std::uint64_t limit = (of->limit + kPage - 1) / kPage * kPage;
  return of->held.now <= limit && counted(size) <= limit - of->held.now;
}

void Pools::destroyed(CUmemoryPool pool) {
  const std::lock_guard lock(mutex_);
  pools_.erase(pool);
}

void Pools::keep(CUmemoryPool pool, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (Pool* of = movable_one(pool)) of->keeps = bytes;
}

bool Pools::keeps(CUmemoryPool pool) {
  const std::lock_guard lock(mutex_);
  const auto known = pools_.find(pool);
  return known != pools_.end() && known->second.keeps != 0;
}

std::uint64_t Pools::Pool::idle_kept(std::uint64_t most) const {
  most = std::min(most, keeps);
  return most > used.now ? most - used.now : 0;
}

std::uint64_t Pools::idle_kept(CUmemoryPool pool, std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  const auto known = pools_.find(pool);
  return known == pools_.end() ? 0 : known->second.idle_kept(most);
}

std::uint64_t Pools::idle_kept_by_others(CUmemoryPool pool) {
  const std::lock_guard lock(mutex_);
  std::uint64_t most = 0;
  for (const auto& [other, of] : pools_)
    if (other != pool) most = std::max(most, of.idle_kept());
  return most;
}

void Pools::took(CUmemoryPool pool, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  Pool* of = movable_one(pool);
  if (of == nullptr) return;
  of->used.add(counted(size));
  of->held.add(counted(size));
}

void Pools::used_no_more(CUmemoryPool pool, std::uint64_t size) { takes_off(&Pool::used, pool, size); }
void Pools::given_back(CUmemoryPool pool, std::uint64_t size) { takes_off(&Pool::held, pool, size); }

// Allocations can outlive their pool, and another one may have its handle.
void Pools::takes_off(Count Pool::*count, CUmemoryPool pool, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  const auto known = pools_.find(pool);
  if (known == pools_.end()) return;
  std::uint64_t& now = (known->second.*count).now;
  now -= std::min(now, counted(size));
}

std::optional<std::uint64_t> Pools::beside_drivers(CUmemoryPool pool, CUmemPool_attribute attribute,
                                                   std::uint64_t idle) {
  const std::lock_guard lock(mutex_);
  const auto known = pools_.find(pool);
  if (known == pools_.end()) return std::nullopt;
  const Pool& of = known->second;
  const std::uint64_t held = of.held.now + std::min(idle, of.idle_kept());
  switch (attribute) {
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return of.used.now;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return of.used.most;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return held;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return std::max(of.held.most, held);
    default:
      return std::nullopt;
  }
}

void Pools::reset(CUmemoryPool pool, CUmemPool_attribute attribute) {
  const std::lock_guard lock(mutex_);
  Pool* of = movable_one(pool);
  if (of == nullptr) return;
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) of->used.most = of->used.now;
  if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) of->held.most = of->held.now;
}

}  // namespace gangway::intercept

// Allocations in a stream's order, and pools.
#include <algorithm>
#include <optional>

#include "hw/intercept/lost_context.hpp"
#include "hw/intercept/memory/allocating.hpp"
#include "hw/intercept/memory/later_frees.hpp"
#include "hw/intercept/memory/pools.hpp"

namespace gangway::intercept {
namespace {

using live::ManagedMemory;

// A number that no other stream of the process ever has; 0: unknown. A handle can be given out again while
// the work of its last stream still runs, and so can a thread's own stream. A context has one legacy stream
// until it is destroyed. The driver is not asked while a capture may forbid that.
std::uint64_t number_of(CUstream stream, bool thread) {
  static const auto get_id = reinterpret_cast<decltype(&cuStreamGetId)>(real_function("cuStreamGetId"));
  constexpr std::uint64_t kLegacy = std::uint64_t{1} << 63;
  if (memory_gate().captures()) return 0;
  const live::StreamName name = name_of(stream, thread);
  if (name.legacy()) return kLegacy | name.context;
  if (stream == nullptr || stream == CU_STREAM_PER_THREAD) return 0;
  unsigned long long number = 0;
  return get_id != nullptr && get_id(stream, &number) == CUDA_SUCCESS ? number : 0;
}

// Error of a context that a fault has ended.
CUresult lost_here() { return a_context_is_lost.load() ? allowed_now() : CUDA_SUCCESS; }

bool captured(CUstream stream, bool thread) {
  return memory_gate().captures() && driver.capturing(name_of(stream, thread));
}

// What has been freed in a stream's order counts as free.
bool room_in(ManagedMemory& memory, CUmemoryPool pool, std::size_t size) {
  if (pools().has_room(pool, size)) return true;
  later_frees().look(memory, true);
  return pools().has_room(pool, size);
}

template <Index I, typename... More>
CUresult allocate_in_order(CUdeviceptr* address, std::size_t size, CUmemoryPool pool, CUstream stream,
                           bool thread, More... more) {
  const auto natively_so = [&] { return natively<I>(address, size, more..., stream); };
  const auto driver_does = [&] {
    const bool uncounted = counted_memory() == nullptr || captured(stream, thread);
    return uncounted ? natively_so() : counted(address, size, 0, natively_so);
  };
  ManagedMemory* memory = managed_memory(true);
  if (memory == nullptr || address == nullptr || size == 0 || captured(stream, thread)) return driver_does();
  // A stream brings its context along.
  std::optional<RealDriver::InContext> in;
  if (driver.current_context() == 0) in.emplace(driver.context(name_of(stream, thread)));
  ManagedMemory::Owner owner;
  if (const CUresult failed = owner_here(owner)) return failed;
  if (const CUresult failed = lost_here()) return failed;
  if constexpr (sizeof...(More) == 0) {  // the device's pool in use
    static const auto of_device =
        reinterpret_cast<decltype(&cuDeviceGetMemPool)>(real_function("cuDeviceGetMemPool"));
    if (of_device(&pool, owner.device) != CUDA_SUCCESS) return driver_does();
  }
  if (!pools().movable(pool)) return driver_does();
  owner.context = 0;  // it outlives its context
  owner.pool = reinterpret_cast<std::uint64_t>(pool);
  owner.kept = pools().keeps(pool);
  const auto freed = later_frees().take(number_of(stream, thread), owner.pool, memory->size_class(size));
  if (freed && memory->reuse(freed->address, size, owner)) {
    *address = freed->address;
    pools().given_back(pool, freed->size);
  } else if (!room_in(*memory, pool, size)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } else if (const CUresult failed = allocate(*memory, address, size, owner)) {
    return failed;
  }
  pools().took(pool, size);
  return CUDA_SUCCESS;
}

template <Index I>
CUresult free_in_order(CUdeviceptr address, CUstream stream, bool thread) {
  ManagedMemory* memory = managed_memory();
  const auto found = memory != nullptr ? memory->find(address) : std::nullopt;
  if (!found) {
    FixedMemoryGoes goes(address);
    const CUresult result = natively<I>(address, stream);
    if (result == CUDA_SUCCESS) goes.gone();
    return result;
  }
  if (found->address != address || captured(stream, thread)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult failed = lost_here()) return failed;
  const CUresult result = later_frees().add(*found, name_of(stream, thread), number_of(stream, thread),
                                            memory->size_class(found->size));
  if (result == CUDA_SUCCESS && found->pool != 0)
    pools().used_no_more(reinterpret_cast<CUmemoryPool>(found->pool), found->size);
  return result;
}

}  // namespace

CUresult Serves<i_cuMemAllocAsync>::call(CUdeviceptr* address, std::size_t size, CUstream stream) {
  return allocate_in_order<i_cuMemAllocAsync>(address, size, nullptr, stream, false);
}
CUresult Serves<i_cuMemAllocAsync_ptsz>::call(CUdeviceptr* address, std::size_t size, CUstream stream) {
  return allocate_in_order<i_cuMemAllocAsync_ptsz>(address, size, nullptr, stream, true);
}
CUresult Serves<i_cuMemAllocFromPoolAsync>::call(CUdeviceptr* address, std::size_t size, CUmemoryPool pool,
                                                 CUstream stream) {
  return allocate_in_order<i_cuMemAllocFromPoolAsync>(address, size, pool, stream, false, pool);
}
CUresult Serves<i_cuMemAllocFromPoolAsync_ptsz>::call(CUdeviceptr* address, std::size_t size,
                                                      CUmemoryPool pool, CUstream stream) {
  return allocate_in_order<i_cuMemAllocFromPoolAsync_ptsz>(address, size, pool, stream, true, pool);
}
CUresult Serves<i_cuMemFreeAsync>::call(CUdeviceptr address, CUstream stream) {
  return free_in_order<i_cuMemFreeAsync>(address, stream, false);
}
CUresult Serves<i_cuMemFreeAsync_ptsz>::call(CUdeviceptr address, CUstream stream) {
  return free_in_order<i_cuMemFreeAsync_ptsz>(address, stream, true);
}

// --- Pools of the program's own

CUresult Serves<i_cuMemPoolCreate>::call(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const CUresult result = natively<i_cuMemPoolCreate>(pool, properties);
  if (result == CUDA_SUCCESS && manages_memory()) pools().created(*pool, *properties);
  return result;
}

CUresult Serves<i_cuMemPoolSetAttribute>::call(CUmemoryPool pool, CUmemPool_attribute attribute,
                                               void* value) {
  const CUresult result = natively<i_cuMemPoolSetAttribute>(pool, attribute, value);
  if (result != CUDA_SUCCESS || !manages_memory()) return result;
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    pools().keep(pool, *static_cast<cuuint64_t*>(value));
  else
    pools().reset(pool, attribute);
  return result;
}

CUresult Serves<i_cuMemPoolGetAttribute>::call(CUmemoryPool pool, CUmemPool_attribute attribute,
                                               void* value) {
  const CUresult result = natively<i_cuMemPoolGetAttribute>(pool, attribute, value);
  ManagedMemory* memory = managed_memory();
  if (result != CUDA_SUCCESS || memory == nullptr) return result;
  const bool reserved =
      attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
  if (const auto ours = pools().beside_drivers(pool, attribute, reserved ? memory->idle() : 0))
    *static_cast<cuuint64_t*>(value) += *ours;
  return result;
}

namespace {

// Memory that was kept for the pool goes, but for so much and what others keep.
void trim(CUmemoryPool pool, std::uint64_t keep) {
  ManagedMemory* memory = managed_memory();
  if (memory == nullptr || memory_gate().captures()) return;
  later_frees().look(*memory, false);
  memory->release_idle(std::max(keep, pools().idle_kept_by_others(pool)));
}

}  // namespace

CUresult Serves<i_cuMemPoolTrimTo>::call(CUmemoryPool pool, std::size_t keep) {
  const CUresult result = natively<i_cuMemPoolTrimTo>(pool, keep);
  if (result == CUDA_SUCCESS && manages_memory() && pools().movable(pool))
    trim(pool, pools().idle_kept(pool, keep));
  return result;
}

CUresult Serves<i_cuMemPoolDestroy>::call(CUmemoryPool pool) {
  const CUresult result = natively<i_cuMemPoolDestroy>(pool);
  if (result != CUDA_SUCCESS || !manages_memory()) return result;
  const bool kept = pools().keeps(pool) && pools().movable(pool);
  pools().destroyed(pool);
  if (kept) trim(pool, 0);
  return result;
}

}  // namespace gangway::intercept

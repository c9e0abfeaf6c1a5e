// Allocations of device memory, and what the driver tells of them.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "hw/intercept/memory/real_memory.hpp"
#include "hw/intercept/memory/served.hpp"

namespace gangway::intercept {
namespace {

using live::ManagedMemory;

constexpr std::uint64_t kPitch = 512;

// A call that a capture under way may forbid: the driver's own answer to such a call.
CUresult allowed_now() {
  if (!memory_gate().captures()) return CUDA_SUCCESS;
  CUdeviceptr probe = 0;
  const CUresult result = natively<i_cuMemAlloc_v2>(&probe, std::size_t{1});
  if (result == CUDA_SUCCESS) natively<i_cuMemFree_v2>(probe);
  return result;
}

CUresult owner_here(ManagedMemory::Owner& owner) {
  static const auto get_device = reinterpret_cast<decltype(&cuCtxGetDevice)>(real_function("cuCtxGetDevice"));
  CUdevice device = 0;
  if (const CUresult failed = get_device(&device)) return failed;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  owner.context = owner.current = driver.current_context();
  owner.device = device;
  owner.properties = RealMemory::properties_of(properties);
  owner.access = {{device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  return CUDA_SUCCESS;
}

// --- What is freed in a stream's order, or while a capture forbids to wait

class LaterFrees {
 public:
  void add(CUdeviceptr address, CUevent event) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({address, event});
    any_.store(true);
  }
  // Frees what nothing on the device uses any more. `wait`: all of it.
  void look(ManagedMemory& memory, bool wait) {
    if (!any_.load()) return;
    const std::lock_guard lock(mutex_);
    const bool captures = memory_gate().captures();
    bool waited = false;
    std::erase_if(waiting_, [&](const Waiting& w) {
      if (w.event == nullptr) {  // until the device has been waited for once
        if (captures) return false;
        if (!waited) synchronize();
        waited = true;
      } else {
        if (wait && !captures) event_wait(w.event);
        if (!driver.reached(w.event, captures)) return false;
        event_destroy(w.event);
      }
      memory.free(w.address);
      return true;
    });
    any_.store(!waiting_.empty());
  }
  static CUresult synchronize() {
    static const auto function = reinterpret_cast<CUresult (*)()>(real_function("cuCtxSynchronize"));
    return function();
  }

 private:
  struct Waiting {
    CUdeviceptr address = 0;
    CUevent event = nullptr;
  };
  static void event_wait(CUevent event) {
    static const auto function =
        reinterpret_cast<decltype(&cuEventSynchronize)>(real_function("cuEventSynchronize"));
    function(event);
  }
  static void event_destroy(CUevent event) {
    static const auto function =
        reinterpret_cast<decltype(&cuEventDestroy_v2)>(real_function("cuEventDestroy_v2"));
    function(event);
  }
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
  std::atomic<bool> any_{false};
};

LaterFrees& later() {
  static auto* const made = new LaterFrees;
  return *made;
}

CUresult allocate(ManagedMemory& memory, CUdeviceptr* address, std::size_t size,
                  const ManagedMemory::Owner& owner) {
  std::uint64_t made = 0;
  later().look(memory, false);
  int result = memory.allocate(size, owner, made);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {  // as the driver does: what is about to be freed counts as free
    later().look(memory, true);
    result = memory.allocate(size, owner, made);
  }
  if (result == CUDA_SUCCESS) *address = made;
  return static_cast<CUresult>(result);
}

// Of the driver, by its address.
template <typename Make>
CUresult counted(const CUdeviceptr* address, std::size_t size, Make allocate) {
  return in_counted_room(address != nullptr ? size : 0, [&](std::uint64_t* made) {
    const CUresult result = allocate();
    if (made != nullptr && result == CUDA_SUCCESS) *made = *address;
    return result;
  });
}

CUresult allocate_now(CUdeviceptr* address, std::size_t size) {
  ManagedMemory::Owner owner;
  if (const CUresult failed = owner_here(owner)) return failed;
  if (const CUresult failed = allowed_now()) return failed;
  return allocate(*managed_memory(), address, size, owner);
}

}  // namespace

CUresult Serves<i_cuMemAlloc_v2>::call(CUdeviceptr* address, std::size_t size) {
  if (managed_memory(true) == nullptr || address == nullptr || size == 0)
    return counted(address, size, [&] { return natively<i_cuMemAlloc_v2>(address, size); });
  return allocate_now(address, size);
}

CUresult Serves<i_cuMemAllocPitch_v2>::call(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                                            std::size_t height, unsigned element) {
  const bool sound = address != nullptr && pitch != nullptr && width > 0 && height > 0 &&
                     (element == 4 || element == 8 || element == 16) && width < SIZE_MAX / 2 / height;
  const std::size_t rows = sound ? (width + kPitch - 1) / kPitch * kPitch : 0;
  if (managed_memory(true) == nullptr || !sound)
    return counted(address, rows * height,
                   [&] { return natively<i_cuMemAllocPitch_v2>(address, pitch, width, height, element); });
  const CUresult result = allocate_now(address, rows * height);
  if (result == CUDA_SUCCESS) *pitch = rows;
  return result;
}

CUresult Serves<i_cuMemFree_v2>::call(CUdeviceptr address) {
  ManagedMemory* memory = managed_memory();
  const auto found = memory != nullptr ? memory->find(address) : std::nullopt;
  if (!found || found->address != address) {
    const CUresult result = natively<i_cuMemFree_v2>(address);
    if (result == CUDA_SUCCESS) fixed_memory_gone(address);
    return result;
  }
  ManagedMemory::Owner owner;
  if (const CUresult failed = owner_here(owner)) return failed;
  if (const CUresult failed = allowed_now()) return failed;
  if (memory_gate().captures()) {
    later().add(address, nullptr);
    return CUDA_SUCCESS;
  }
  if (const CUresult failed = LaterFrees::synchronize()) return failed;
  later().look(*memory, false);
  return memory->free(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// --- In a stream's order

namespace {

bool per_thread_stream(CUstream stream, bool thread) {
  return stream == CU_STREAM_PER_THREAD || (stream == nullptr && thread);
}

bool captured(CUstream stream, bool thread) {
  if (!memory_gate().captures()) return false;
  live::StreamName name{reinterpret_cast<std::uint64_t>(stream), 0};
  if (per_thread_stream(stream, thread))
    name = live::StreamName::of_this_thread(driver.current_context());
  else if (stream == nullptr || stream == CU_STREAM_LEGACY)
    name = {live::StreamName::kLegacy, driver.current_context()};
  return driver.capturing(name);
}

bool is_movable_pool(CUmemoryPool pool);

template <Index I, typename... More>
CUresult allocate_in_order(CUdeviceptr* address, std::size_t size, CUmemoryPool pool, CUstream stream,
                           bool thread, More... more) {
  const auto natively_so = [&] { return natively<I>(address, size, more..., stream); };
  const auto driver_does = [&] {
    const bool uncounted = counted_memory() == nullptr || captured(stream, thread);
    return uncounted ? natively_so() : counted(address, size, natively_so);
  };
  ManagedMemory* memory = managed_memory(true);
  if (memory == nullptr || address == nullptr || size == 0 || captured(stream, thread)) return driver_does();
  ManagedMemory::Owner owner;
  if (const CUresult failed = owner_here(owner)) return failed;
  if (pool == nullptr) {
    static const auto of_device =
        reinterpret_cast<decltype(&cuDeviceGetMemPool)>(real_function("cuDeviceGetMemPool"));
    if (of_device(&pool, owner.device) != CUDA_SUCCESS) return driver_does();
  } else if (!is_movable_pool(pool)) {
    return driver_does();
  }
  owner.context = 0;  // it outlives its context
  owner.pool = reinterpret_cast<std::uint64_t>(pool);
  return allocate(*memory, address, size, owner);
}

template <Index I>
CUresult free_in_order(CUdeviceptr address, CUstream stream, bool thread) {
  ManagedMemory* memory = managed_memory();
  const auto found = memory != nullptr ? memory->find(address) : std::nullopt;
  if (!found) {
    const CUresult result = natively<I>(address, stream);
    if (result == CUDA_SUCCESS) fixed_memory_gone(address);
    return result;
  }
  if (found->address != address || captured(stream, thread)) return CUDA_ERROR_INVALID_VALUE;
  live::Driver::Event event = nullptr;
  live::StreamName name{reinterpret_cast<std::uint64_t>(stream), 0};
  if (per_thread_stream(stream, thread))
    name = live::StreamName::of_this_thread(driver.current_context());
  else if (stream == nullptr)
    name = {live::StreamName::kLegacy, driver.current_context()};
  if (!driver.record(name, event)) return CUDA_ERROR_INVALID_HANDLE;
  later().add(address, static_cast<CUevent>(event));
  return CUDA_SUCCESS;
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

// --- Pools of the program's own: those that other processes may use stay the driver's

namespace {

struct Pools {
  std::mutex mutex;
  std::map<CUmemoryPool, bool> shared;
};
Pools& pools() {
  static auto* const made = new Pools;
  return *made;
}

bool is_movable_pool(CUmemoryPool pool) {
  const std::lock_guard lock(pools().mutex);
  const auto known = pools().shared.find(pool);
  return known == pools().shared.end() || !known->second;
}

}  // namespace

CUresult Serves<i_cuMemPoolCreate>::call(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const CUresult result = natively<i_cuMemPoolCreate>(pool, properties);
  if (result == CUDA_SUCCESS && manages_memory()) {
    const std::lock_guard lock(pools().mutex);
    pools().shared[*pool] = properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
                            properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
  }
  return result;
}

// --- What there is

CUresult Serves<i_cuMemGetInfo_v2>::call(std::size_t* free, std::size_t* total) {
  ManagedMemory* memory = managed_memory(true);
  live::CountedMemory* counts = memory == nullptr ? counted_memory() : nullptr;
  if ((memory == nullptr && counts == nullptr) || free == nullptr || total == nullptr)
    return natively<i_cuMemGetInfo_v2>(free, total);
  std::uint64_t f = 0, t = 0;
  const int result = memory != nullptr ? memory->info(f, t) : counts->info(f, t);
  if (result == CUDA_SUCCESS) *free = f, *total = t;
  return static_cast<CUresult>(result);
}

CUresult Serves<i_cuMemGetAddressRange_v2>::call(CUdeviceptr* base, std::size_t* size, CUdeviceptr address) {
  ManagedMemory* memory = managed_memory();
  if (memory == nullptr) return natively<i_cuMemGetAddressRange_v2>(base, size, address);
  const auto found = memory->find(address);
  if (!found) {
    const auto lock = memory->here_if_mapped(address);
    return natively<i_cuMemGetAddressRange_v2>(base, size, address);
  }
  if (base != nullptr) *base = found->address;
  if (size != nullptr) *size = found->size;
  return CUDA_SUCCESS;
}

namespace {

template <typename T>
CUresult tell(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// As the driver tells of memory that it has allocated itself.
CUresult tell_attribute(ManagedMemory& memory, void* data, CUpointer_attribute attribute, CUdeviceptr address,
                        const ManagedMemory::Allocation& found) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return tell(data, found.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return tell<unsigned>(data, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return tell<std::uint64_t>(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return tell<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return tell<int>(data, found.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return tell<std::uint64_t>(data, found.address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return tell<std::uint64_t>(data, found.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return tell<unsigned>(data, 1);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return tell<std::uint64_t>(data, found.pool);
    default:
      break;
  }
  const auto lock = memory.here();
  return natively<i_cuPointerGetAttribute>(data, attribute, address);
}

std::size_t width_of(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return 8;
    default:
      return 4;
  }
}

}  // namespace

CUresult Serves<i_cuPointerGetAttribute>::call(void* data, CUpointer_attribute attribute,
                                               CUdeviceptr address) {
  ManagedMemory* memory = managed_memory();
  if (memory == nullptr || data == nullptr)
    return natively<i_cuPointerGetAttribute>(data, attribute, address);
  if (const auto found = memory->find(address))
    return tell_attribute(*memory, data, attribute, address, *found);
  const auto lock = memory->here_if_mapped(address);
  return natively<i_cuPointerGetAttribute>(data, attribute, address);
}

CUresult Serves<i_cuPointerGetAttributes>::call(unsigned count, CUpointer_attribute* attributes, void** data,
                                                CUdeviceptr address) {
  ManagedMemory* memory = managed_memory();
  const auto found =
      memory != nullptr && attributes != nullptr && data != nullptr ? memory->find(address) : std::nullopt;
  if (!found) {
    const auto lock = memory != nullptr ? memory->here_if_mapped(address) : live::ManagedMemory::Held();
    return natively<i_cuPointerGetAttributes>(count, attributes, data, address);
  }
  for (unsigned i = 0; i < count; ++i)
    if (tell_attribute(*memory, data[i], attributes[i], address, *found) != CUDA_SUCCESS)
      std::memset(data[i], 0, width_of(attributes[i]));
  return CUDA_SUCCESS;
}

CUresult Serves<i_cuPointerSetAttribute>::call(const void* value, CUpointer_attribute attribute,
                                               CUdeviceptr address) {
  ManagedMemory* memory = managed_memory();
  const auto lock = memory != nullptr && (memory->find(address) || memory->is_mapped(address))
                        ? memory->here()
                        : live::ManagedMemory::Held();
  return natively<i_cuPointerSetAttribute>(value, attribute, address);
}

CUresult Serves<i_cuIpcGetMemHandle>::call(CUipcMemHandle* handle, CUdeviceptr address) {
  static int said = 0;
  ManagedMemory* memory = managed_memory();
  if (memory == nullptr || !memory->find(address)) return natively<i_cuIpcGetMemHandle>(handle, address);
  say_once(
      said,
      "memory that can leave the GPU cannot be shared with another process; gangway exec --memory native "
      "keeps it there");
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace gangway::intercept

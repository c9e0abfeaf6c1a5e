// Allocations of device memory, and what the driver tells of them.
#include <cstring>

#include "hw/intercept/lost_context.hpp"
#include "hw/intercept/memory/allocating.hpp"
#include "hw/intercept/memory/later_frees.hpp"
#include "hw/intercept/memory/pools.hpp"
#include "hw/intercept/memory/real_memory.hpp"

namespace gangway::intercept {

CUresult owner_here(live::ManagedMemory::Owner& owner) {
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

CUresult allocate(live::ManagedMemory& memory, CUdeviceptr* address, std::size_t size,
                  const live::ManagedMemory::Owner& owner) {
  std::uint64_t made = 0;
  later_frees().look(memory, false);
  int result = memory.allocate(size, owner, made);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {  // as the driver does: what is about to be freed counts as free
    later_frees().look(memory, true);
    if (!memory_gate().captures()) memory.release_idle(0);
    result = memory.allocate(size, owner, made);
  }
  if (result == CUDA_SUCCESS) *address = made;
  return static_cast<CUresult>(result);
}

CUresult allowed_now() {
  if (!memory_gate().captures() && !a_context_is_lost.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  CUdeviceptr probe = 0;
  const CUresult result = natively<i_cuMemAlloc_v2>(&probe, std::size_t{1});
  if (result == CUDA_SUCCESS) natively<i_cuMemFree_v2>(probe);
  return result;
}

namespace {

using live::ManagedMemory;

constexpr std::uint64_t kPitch = 512;

CUresult allocate_now(CUdeviceptr* address, std::size_t size) {
  ManagedMemory::Owner owner;
  if (const CUresult failed = owner_here(owner)) return failed;
  if (const CUresult failed = allowed_now()) return failed;
  return allocate(*managed_memory(), address, size, owner);
}

}  // namespace

CUresult Serves<i_cuMemAlloc_v2>::call(CUdeviceptr* address, std::size_t size) {
  if (managed_memory(true) == nullptr || address == nullptr || size == 0)
    return counted(address, size, driver.current_context(),
                   [&] { return natively<i_cuMemAlloc_v2>(address, size); });
  return allocate_now(address, size);
}

CUresult Serves<i_cuMemAllocPitch_v2>::call(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                                            std::size_t height, unsigned element) {
  const bool sound = address != nullptr && pitch != nullptr && width > 0 && height > 0 &&
                     (element == 4 || element == 8 || element == 16) && width < SIZE_MAX / 2 / height;
  const std::size_t rows = sound ? (width + kPitch - 1) / kPitch * kPitch : 0;
  if (managed_memory(true) == nullptr || !sound)
    return counted(address, rows * height, driver.current_context(),
                   [&] { return natively<i_cuMemAllocPitch_v2>(address, pitch, width, height, element); });
  const CUresult result = allocate_now(address, rows * height);
  if (result == CUDA_SUCCESS) *pitch = rows;
  return result;
}

CUresult Serves<i_cuMemFree_v2>::call(CUdeviceptr address) {
  ManagedMemory* memory = managed_memory();
  const auto found = memory != nullptr ? memory->find(address) : std::nullopt;
  if (!found || found->address != address) {
    FixedMemoryGoes goes(address);
    const CUresult result = natively<i_cuMemFree_v2>(address);
    if (result == CUDA_SUCCESS) goes.gone();
    return result;
  }
  ManagedMemory::Owner owner;
  if (const CUresult failed = owner_here(owner)) return failed;
  if (const CUresult failed = allowed_now()) return failed;
  if (later_frees().has(address)) return CUDA_ERROR_INVALID_VALUE;
  if (memory_gate().captures()) {
    if (!later_frees().add(*found)) return CUDA_ERROR_INVALID_VALUE;
    if (found->pool != 0) pools().used_no_more(reinterpret_cast<CUmemoryPool>(found->pool), found->size);
    return CUDA_SUCCESS;
  }
  if (const CUresult failed = synchronize_users(*memory, *found)) return failed;
  later_frees().look(*memory, false);
  if (found->pool != 0) pools().used_no_more(reinterpret_cast<CUmemoryPool>(found->pool), found->size);
  return free_now(*memory, *found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return tell<unsigned>(data, found.sync_memops ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return tell<std::uint64_t>(data, found.number);
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
  const bool found = memory != nullptr && memory->find(address);
  // The driver refuses this for memory that is mapped, as ours is.
  if (found && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && value != nullptr) {
    memory->set_sync_memops(address, *static_cast<const unsigned*>(value) != 0);
    return CUDA_SUCCESS;
  }
  const auto lock = found || (memory != nullptr && memory->is_mapped(address)) ? memory->here()
                                                                               : live::ManagedMemory::Held();
  return natively<i_cuPointerSetAttribute>(value, attribute, address);
}

namespace {

// What others would use of the physical memory at the address. True: an allocation can leave, and they would
// not notice. The program's own mapped memory stays from now on.
bool cannot_be_shared(CUdeviceptr address, std::size_t size) {
  static int said = 0;
  ManagedMemory* memory = managed_memory();
  if (memory == nullptr) return false;
  if (!memory->find(address)) {
    memory->fix_mapped(address, size);
    return false;
  }
  say_once(said,
           "memory that can leave the GPU cannot be shared with others; gangway exec --memory native keeps "
           "it there");
  return true;
}

}  // namespace

CUresult Serves<i_cuIpcGetMemHandle>::call(CUipcMemHandle* handle, CUdeviceptr address) {
  if (cannot_be_shared(address, 0)) return CUDA_ERROR_NOT_SUPPORTED;
  return natively<i_cuIpcGetMemHandle>(handle, address);
}

CUresult Serves<i_cuMemGetHandleForAddressRange>::call(void* handle, CUdeviceptr address, std::size_t size,
                                                       CUmemRangeHandleType type, unsigned long long flags) {
  if (cannot_be_shared(address, size)) return CUDA_ERROR_NOT_SUPPORTED;
  return natively<i_cuMemGetHandleForAddressRange>(handle, address, size, type, flags);
}

CUresult Serves<i_cuMulticastBindAddr>::call(CUmemGenericAllocationHandle object, std::size_t offset,
                                             CUdeviceptr address, std::size_t size,
                                             unsigned long long flags) {
  if (cannot_be_shared(address, size)) return CUDA_ERROR_NOT_SUPPORTED;
  return natively<i_cuMulticastBindAddr>(object, offset, address, size, flags);
}

}  // namespace gangway::intercept

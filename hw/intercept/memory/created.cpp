// Physical memory that the program creates and maps itself.
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "hw/intercept/memory/real_memory.hpp"
#include "hw/intercept/memory/served.hpp"

namespace gangway::intercept {
namespace {

using live::ManagedMemory;

bool can_move(const CUmemAllocationProp* properties) {
  return properties != nullptr && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties->allocFlags.usage == 0;
}

// To the driver, allocations are mapped; to the program they are not.
bool is_allocations(CUdeviceptr address) {
  ManagedMemory* memory = managed_memory();
  return memory != nullptr && memory->reserved(address);
}

// Handles of counted memory: it is there as long as a handle or a mapping is, whatever becomes of contexts.
class CreatedBook {
 public:
  void created(CUmemGenericAllocationHandle handle) {
    const std::lock_guard lock(mutex_);
    uses_[handle] = 1;
  }
  void retained(CUmemGenericAllocationHandle handle) {
    const std::lock_guard lock(mutex_);
    use(handle);
  }
  void mapped(CUdeviceptr address, CUmemGenericAllocationHandle handle) {
    const std::lock_guard lock(mutex_);
    if (use(handle)) mappings_[address] = handle;
  }
  // Before and after the driver's calls that may free it, as with FixedMemoryGoes.
  template <typename Call>
  CUresult released(CUmemGenericAllocationHandle handle, Call call) {
    return without({}, {handle}, call);
  }
  template <typename Call>
  CUresult unmapped(CUdeviceptr address, std::size_t size, Call call) {
    Mappings gone;
    std::vector<CUmemGenericAllocationHandle> handles;
    {
      const std::lock_guard lock(mutex_);
      const auto first = mappings_.lower_bound(address);
      auto end = first;
      for (; end != mappings_.end() && end->first - address < size; ++end) handles.push_back(end->second);
      gone.insert(first, end);
      mappings_.erase(first, end);
    }
    return without(std::move(gone), handles, call);
  }

 private:
  using Mappings = std::map<CUdeviceptr, CUmemGenericAllocationHandle>;

  // False: it does not count.
  bool use(CUmemGenericAllocationHandle handle) {
    const auto found = uses_.find(handle);
    if (found == uses_.end()) return false;
    ++found->second;
    return true;
  }
  // Makes the call while the mappings and one use of each handle are out of the books; if it fails, they are
  // in them again.
  template <typename Call>
  CUresult without(Mappings mappings, const std::vector<CUmemGenericAllocationHandle>& handles, Call call) {
    std::vector<CUmemGenericAllocationHandle> dropped;
    std::list<FixedMemoryGoes> last;
    {
      const std::lock_guard lock(mutex_);
      for (const CUmemGenericAllocationHandle handle : handles) {
        const auto found = uses_.find(handle);
        if (found == uses_.end()) continue;
        dropped.push_back(handle);
        if (--found->second > 0) continue;
        uses_.erase(found);
        last.emplace_back(handle);
      }
    }
    const CUresult result = call();
    if (result == CUDA_SUCCESS) {
      for (FixedMemoryGoes& goes : last) goes.gone();
    } else {
      const std::lock_guard lock(mutex_);
      for (const CUmemGenericAllocationHandle handle : dropped) ++uses_[handle];
      mappings_.merge(mappings);
    }
    return result;
  }

  std::mutex mutex_;
  std::map<CUmemGenericAllocationHandle, int> uses_;
  Mappings mappings_;
};

// Null: memory is not counted.
CreatedBook* book() {
  if (counted_memory() == nullptr) return nullptr;
  static auto* const made = new CreatedBook;
  return made;
}

}  // namespace

CUresult Serves<i_cuMemCreate>::call(CUmemGenericAllocationHandle* handle, std::size_t size,
                                     const CUmemAllocationProp* properties, unsigned long long flags) {
  ManagedMemory* memory = managed_memory(true);
  const bool whole = size > 0 && size % live::MemoryDriver::kGranularity == 0;
  if (memory == nullptr || handle == nullptr || !whole || flags != 0 || !can_move(properties))
    return in_counted_room(handle != nullptr && can_move(properties) ? size : 0, 0,
                           [&](std::uint64_t* named) {
                             const CUresult result = natively<i_cuMemCreate>(handle, size, properties, flags);
                             if (result != CUDA_SUCCESS || named == nullptr) return result;
                             *named = *handle;
                             if (CreatedBook* counts = book()) counts->created(*handle);
                             return result;
                           });
  std::uint64_t made = 0;
  const int result =
      memory->create(size, RealMemory::properties_of(*properties), driver.current_context(), made);
  if (result == CUDA_SUCCESS) *handle = made;
  return static_cast<CUresult>(result);
}

CUresult Serves<i_cuMemRelease>::call(CUmemGenericAllocationHandle handle) {
  ManagedMemory* memory = managed_memory();
  const auto ours = memory != nullptr ? memory->release(handle) : std::nullopt;
  if (ours) return static_cast<CUresult>(*ours);
  const auto natively_so = [&] { return natively<i_cuMemRelease>(handle); };
  CreatedBook* const counts = book();
  return counts != nullptr ? counts->released(handle, natively_so) : natively_so();
}

CUresult Serves<i_cuMemMap>::call(CUdeviceptr address, std::size_t size, std::size_t offset,
                                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (is_allocations(address)) return CUDA_ERROR_INVALID_VALUE;
  ManagedMemory* memory = managed_memory();
  const auto ours =
      memory != nullptr && flags == 0 ? memory->map(address, size, offset, handle) : std::nullopt;
  if (ours) return static_cast<CUresult>(*ours);
  const CUresult result = natively<i_cuMemMap>(address, size, offset, handle, flags);
  if (CreatedBook* counts = result == CUDA_SUCCESS ? book() : nullptr) counts->mapped(address, handle);
  return result;
}

CUresult Serves<i_cuMemUnmap>::call(CUdeviceptr address, std::size_t size) {
  if (is_allocations(address)) return CUDA_ERROR_INVALID_VALUE;
  ManagedMemory* memory = managed_memory();
  const auto ours = memory != nullptr ? memory->unmap(address, size) : std::nullopt;
  if (ours) return static_cast<CUresult>(*ours);
  const auto natively_so = [&] { return natively<i_cuMemUnmap>(address, size); };
  CreatedBook* const counts = book();
  return counts != nullptr ? counts->unmapped(address, size, natively_so) : natively_so();
}

CUresult Serves<i_cuMemSetAccess>::call(CUdeviceptr address, std::size_t size, const CUmemAccessDesc* given,
                                        std::size_t count) {
  if (is_allocations(address)) return CUDA_ERROR_INVALID_VALUE;
  ManagedMemory* memory = managed_memory();
  if (memory == nullptr || given == nullptr || count == 0)
    return natively<i_cuMemSetAccess>(address, size, given, count);
  // Where memory moves there is one device. What others may use too stays; how many of these there can be the
  // driver knows, which reads them.
  if (count > 1 || given->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    if (memory->is_mapped(address)) memory->fix_mapped(address, size);
    return natively<i_cuMemSetAccess>(address, size, given, count);
  }
  const auto ours =
      memory->allow(address, size, {{given->location.id, static_cast<std::uint32_t>(given->flags)}});
  return ours ? static_cast<CUresult>(*ours) : natively<i_cuMemSetAccess>(address, size, given, count);
}

CUresult Serves<i_cuMemGetAccess>::call(unsigned long long* flags, const CUmemLocation* location,
                                        CUdeviceptr address) {
  ManagedMemory* memory = managed_memory();
  const auto lock = memory != nullptr ? memory->here_if_mapped(address) : live::ManagedMemory::Held();
  return natively<i_cuMemGetAccess>(flags, location, address);
}

CUresult Serves<i_cuMemRetainAllocationHandle>::call(CUmemGenericAllocationHandle* handle, void* address) {
  if (is_allocations(reinterpret_cast<CUdeviceptr>(address))) return CUDA_ERROR_INVALID_VALUE;
  ManagedMemory* memory = managed_memory();
  const auto ours = memory != nullptr && handle != nullptr
                        ? memory->retain(reinterpret_cast<std::uint64_t>(address))
                        : std::nullopt;
  if (!ours) {
    const CUresult result = natively<i_cuMemRetainAllocationHandle>(handle, address);
    if (CreatedBook* counts = result == CUDA_SUCCESS ? book() : nullptr) counts->retained(*handle);
    return result;
  }
  *handle = *ours;
  return CUDA_SUCCESS;
}

CUresult Serves<i_cuMemGetAllocationPropertiesFromHandle>::call(CUmemAllocationProp* properties,
                                                                CUmemGenericAllocationHandle handle) {
  ManagedMemory* memory = managed_memory();
  if (memory == nullptr || !memory->is_ours(handle))
    return natively<i_cuMemGetAllocationPropertiesFromHandle>(properties, handle);
  const auto lock = memory->here();
  return natively<i_cuMemGetAllocationPropertiesFromHandle>(properties, memory->real(handle));
}

CUresult Serves<i_cuMemExportToShareableHandle>::call(void* shareable, CUmemGenericAllocationHandle handle,
                                                      CUmemAllocationHandleType type,
                                                      unsigned long long flags) {
  ManagedMemory* memory = managed_memory();
  if (memory != nullptr && memory->is_ours(handle)) handle = memory->fix(handle);
  return natively<i_cuMemExportToShareableHandle>(shareable, handle, type, flags);
}

CUresult Serves<i_cuMulticastBindMem>::call(CUmemGenericAllocationHandle object, std::size_t offset,
                                            CUmemGenericAllocationHandle handle, std::size_t memory_offset,
                                            std::size_t size, unsigned long long flags) {
  ManagedMemory* memory = managed_memory();
  if (memory != nullptr && memory->is_ours(handle)) handle = memory->fix(handle);
  return natively<i_cuMulticastBindMem>(object, offset, handle, memory_offset, size, flags);
}

}  // namespace gangway::intercept

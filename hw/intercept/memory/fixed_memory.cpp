// Memory that the driver allocates and that cannot leave: arrays and managed memory. It counts, and is
// refused where the device has no room for it.
#include <map>
#include <mutex>

#include "hw/intercept/memory/served.hpp"

namespace gangway::intercept {
namespace {

class FixedMemory {
 public:
  template <typename Make>
  CUresult make(std::uint64_t bytes, Make allocate) {
    live::ManagedMemory* memory = managed_memory(true);
    if (memory == nullptr || bytes == 0) return allocate(nullptr);
    if (!memory->claim_fixed(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    std::uint64_t made = 0;
    const CUresult result = allocate(&made);
    const std::lock_guard lock(mutex_);
    if (result == CUDA_SUCCESS)
      sizes_[made] = bytes;
    else
      memory->give_back_fixed(bytes);
    return result;
  }
  void gone(std::uint64_t which) {
    live::ManagedMemory* memory = managed_memory();
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(which);
    if (found == sizes_.end()) return;
    memory->give_back_fixed(found->second);
    sizes_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> sizes_;  // by handle or address
};

FixedMemory& fixed() {
  static auto* const made = new FixedMemory;
  return *made;
}

std::uint64_t bytes_of(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    default:
      return 4;
  }
}

template <typename Descriptor>
std::uint64_t size_of(const Descriptor* d, std::uint64_t depth) {
  if (d == nullptr) return 0;
  const std::uint64_t rows = d->Height > 0 ? d->Height : 1, planes = depth > 0 ? depth : 1;
  return d->Width * rows * planes * d->NumChannels * bytes_of(d->Format);
}

template <typename T>
void note(std::uint64_t* made, T handle) {
  if (made != nullptr) *made = reinterpret_cast<std::uint64_t>(handle);
}

}  // namespace

CUresult Serves<i_cuArrayCreate_v2>::call(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  return fixed().make(size_of(descriptor, 0), [&](std::uint64_t* made) {
    const CUresult result = natively<i_cuArrayCreate_v2>(array, descriptor);
    if (result == CUDA_SUCCESS) note(made, *array);
    return result;
  });
}

CUresult Serves<i_cuArray3DCreate_v2>::call(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return fixed().make(size_of(descriptor, descriptor != nullptr ? descriptor->Depth : 0),
                      [&](std::uint64_t* made) {
                        const CUresult result = natively<i_cuArray3DCreate_v2>(array, descriptor);
                        if (result == CUDA_SUCCESS) note(made, *array);
                        return result;
                      });
}

CUresult Serves<i_cuArrayDestroy>::call(CUarray array) {
  const CUresult result = natively<i_cuArrayDestroy>(array);
  if (result == CUDA_SUCCESS) fixed().gone(reinterpret_cast<std::uint64_t>(array));
  return result;
}

// All levels together take less than twice the first.
CUresult Serves<i_cuMipmappedArrayCreate>::call(CUmipmappedArray* array,
                                                const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  const std::uint64_t first = size_of(descriptor, descriptor != nullptr ? descriptor->Depth : 0);
  return fixed().make(levels > 1 ? 2 * first : first, [&](std::uint64_t* made) {
    const CUresult result = natively<i_cuMipmappedArrayCreate>(array, descriptor, levels);
    if (result == CUDA_SUCCESS) note(made, *array);
    return result;
  });
}

CUresult Serves<i_cuMipmappedArrayDestroy>::call(CUmipmappedArray array) {
  const CUresult result = natively<i_cuMipmappedArrayDestroy>(array);
  if (result == CUDA_SUCCESS) fixed().gone(reinterpret_cast<std::uint64_t>(array));
  return result;
}

CUresult Serves<i_cuMemAllocManaged>::call(CUdeviceptr* address, std::size_t size, unsigned flags) {
  return fixed().make(size, [&](std::uint64_t* made) {
    const CUresult result = natively<i_cuMemAllocManaged>(address, size, flags);
    if (result == CUDA_SUCCESS && made != nullptr) *made = *address;
    return result;
  });
}

void fixed_memory_gone(CUdeviceptr address) { fixed().gone(address); }

}  // namespace gangway::intercept

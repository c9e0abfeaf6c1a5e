// Memory that the driver allocates. It counts, and is refused where the device has no room for it: arrays and
// managed memory, which cannot leave, or all of it, where processes leave as a whole.
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "hw/intercept/memory/array_size.hpp"
#include "hw/intercept/memory/served.hpp"
#include "hw/live/pause.hpp"

namespace gangway::intercept {
namespace {

class FixedMemory {
 public:
  using Entry = FixedMemoryGoes::Entry;

  // `context`: whose end frees it; 0: none.
  template <typename Make>
  CUresult make(std::uint64_t bytes, std::uint64_t context, Make allocate) {
    live::ManagedMemory* memory = managed_memory(true);
    live::CountedMemory* counted = memory == nullptr ? counted_memory() : nullptr;
    if ((memory == nullptr && counted == nullptr) || bytes == 0) return allocate(nullptr);
    std::optional<live::ChangesMemory> changes =
        memory != nullptr ? memory->claim_fixed(bytes) : counted->claim(bytes);
    if (!changes) return CUDA_ERROR_OUT_OF_MEMORY;
    std::uint64_t made = 0;
    CUresult result = allocate(&made);
    // Of a client that has just ended, the driver frees it late.
    for (int turn = 0; result == CUDA_ERROR_OUT_OF_MEMORY && turn < kAttempts; ++turn) {
      changes->end();
      live::sleep_ns(kBetween);
      result = allocate(&made);
    }
    if (result == CUDA_SUCCESS)
      put(made, {bytes, context});
    else
      give_back(bytes);
    return result;
  }
  void put(std::uint64_t which, const Entry& entry) {
    const std::lock_guard lock(mutex_);
    entries_.emplace(which, entry);
  }
  std::optional<Entry> take(std::uint64_t which) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(which);
    if (found == entries_.end()) return std::nullopt;
    const Entry entry = found->second;
    entries_.erase(found);
    return entry;
  }
  void context_gone(std::uint64_t context) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& one) {
      if (one.second.context != context) return false;
      give_back(one.second.bytes);
      return true;
    });
  }
  static void give_back(std::uint64_t bytes) {
    if (live::ManagedMemory* memory = managed_memory())
      memory->give_back_fixed(bytes);
    else
      counted_memory()->give_back(bytes);
  }

 private:
  static constexpr int kAttempts = 2000;
  static constexpr std::int64_t kBetween = 1'000'000;  // ns

  std::mutex mutex_;
  std::map<std::uint64_t, Entry> entries_;  // by handle or address
};

FixedMemory& fixed() {
  static auto* const made = new FixedMemory;
  return *made;
}

template <typename T>
void note(std::uint64_t* made, T handle) {
  if (made != nullptr) *made = reinterpret_cast<std::uint64_t>(handle);
}

std::uint64_t device_bytes() {
  static const auto total =
      reinterpret_cast<decltype(&cuDeviceTotalMem_v2)>(real_function("cuDeviceTotalMem_v2"));
  std::size_t bytes = 0;
  return total(&bytes, 0) == CUDA_SUCCESS ? bytes : UINT64_MAX;
}

// What no device has room for the driver refuses as it likes.
template <Index I, typename Array, typename... More>
CUresult make_array(const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels, Array* array, More... more) {
  const std::uint64_t bytes = descriptor != nullptr ? array_size(*descriptor, levels) : 0;
  if (bytes > device_bytes()) return natively<I>(array, more...);
  return fixed().make(bytes, driver.current_context(), [&](std::uint64_t* made) {
    const CUresult result = natively<I>(array, more...);
    if (result == CUDA_SUCCESS) note(made, *array);
    return result;
  });
}

}  // namespace

CUresult Serves<i_cuArrayCreate_v2>::call(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  CUDA_ARRAY3D_DESCRIPTOR full{};
  if (descriptor != nullptr)
    full = {descriptor->Width, descriptor->Height, 0, descriptor->Format, descriptor->NumChannels, 0};
  return make_array<i_cuArrayCreate_v2>(&full, 1, array, descriptor);
}

CUresult Serves<i_cuArray3DCreate_v2>::call(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return make_array<i_cuArray3DCreate_v2>(descriptor, 1, array, descriptor);
}

CUresult Serves<i_cuArrayDestroy>::call(CUarray array) {
  FixedMemoryGoes goes(reinterpret_cast<std::uint64_t>(array));
  const CUresult result = natively<i_cuArrayDestroy>(array);
  if (result == CUDA_SUCCESS) goes.gone();
  return result;
}

CUresult Serves<i_cuMipmappedArrayCreate>::call(CUmipmappedArray* array,
                                                const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  return make_array<i_cuMipmappedArrayCreate>(descriptor, levels, array, descriptor, levels);
}

CUresult Serves<i_cuMipmappedArrayDestroy>::call(CUmipmappedArray array) {
  FixedMemoryGoes goes(reinterpret_cast<std::uint64_t>(array));
  const CUresult result = natively<i_cuMipmappedArrayDestroy>(array);
  if (result == CUDA_SUCCESS) goes.gone();
  return result;
}

CUresult Serves<i_cuMemAllocManaged>::call(CUdeviceptr* address, std::size_t size, unsigned flags) {
  return fixed().make(size, driver.current_context(), [&](std::uint64_t* made) {
    const CUresult result = natively<i_cuMemAllocManaged>(address, size, flags);
    if (result == CUDA_SUCCESS && made != nullptr) *made = *address;
    return result;
  });
}

FixedMemoryGoes::FixedMemoryGoes(std::uint64_t which) : which_(which) {
  if (managed_memory() != nullptr || counted_memory() != nullptr) entry_ = fixed().take(which);
}

FixedMemoryGoes::~FixedMemoryGoes() {
  if (entry_) fixed().put(which_, *entry_);
}

void FixedMemoryGoes::gone() {
  if (const auto entry = std::exchange(entry_, std::nullopt)) FixedMemory::give_back(entry->bytes);
}

void fixed_memory_of_context_gone(std::uint64_t context) {
  if (managed_memory() != nullptr || counted_memory() != nullptr) fixed().context_gone(context);
}

// The driver takes whole pages for what is large.
CUresult in_counted_room(std::uint64_t bytes, std::uint64_t context,
                         const std::function<CUresult(std::uint64_t* made)>& allocate) {
  constexpr std::uint64_t kLarge = 1 << 20, kPage = 2 << 20, kGrain = 512;
  if (counted_memory() == nullptr || bytes == 0) return allocate(nullptr);
  const std::uint64_t to = bytes > kLarge ? kPage : kGrain;
  return fixed().make((bytes + to - 1) / to * to, context, allocate);
}

}  // namespace gangway::intercept

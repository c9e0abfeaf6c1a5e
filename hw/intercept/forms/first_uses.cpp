#include "hw/intercept/forms/first_uses.hpp"

namespace gangway::intercept {
namespace {

constexpr int kMuchLocal =
    512;  // bytes a thread; the driver keeps more than that for every thread from the start
constexpr std::size_t kLooks = 64;

std::uint64_t key_of(const void* function, std::uint64_t context, FirstUses::Use use) {
  std::uint64_t key = reinterpret_cast<std::uint64_t>(function) * 0x9E3779B97F4A7C15ULL;
  key = (key ^ (key >> 29) ^ context) * 0xBF58476D1CE4E5B9ULL + static_cast<std::uint64_t>(use);
  return key == 0 ? 1 : key;
}

}  // namespace

bool FirstUses::first(const void* function, std::uint64_t context, Use use) const {
  const std::uint64_t key = key_of(function, context, use);
  for (std::size_t look = 0; look < kLooks; ++look) {
    const std::uint64_t found = seen_[((key >> 32) + look) % kPlaces].load(std::memory_order_acquire);
    if (found == key) return false;
    if (found == 0) return true;
  }
  return true;
}

void FirstUses::used(const void* function, std::uint64_t context, Use use) {
  const std::uint64_t key = key_of(function, context, use);
  const std::lock_guard lock(mutex_);
  for (bool again = true;; again = false) {
    for (std::size_t look = 0; look < kLooks; ++look) {
      std::atomic<std::uint64_t>& place = seen_[((key >> 32) + look) % kPlaces];
      const std::uint64_t found = place.load(std::memory_order_relaxed);
      if (found == key) return;
      if (found != 0) continue;
      handles_[function].uses.push_back(key);
      return place.store(key, std::memory_order_release);
    }
    if (!again) return;
    forget_all();  // the table is full, of kernels that are gone for the most part
  }
}

void FirstUses::given(const void* function) {
  const std::lock_guard lock(mutex_);
  if (handles_.size() >= kPlaces) forget_all();  // most are gone
  Handle& its = handles_[function];
  if (its.given != unloaded_) forget(function, its);
  its.given = unloaded_;
}

void FirstUses::unloaded() {
  const std::lock_guard lock(mutex_);
  ++unloaded_;
  for (auto& [function, handle] : handles_)
    if (!handle.given) forget(function, handle);
}

void FirstUses::forget() {
  const std::lock_guard lock(mutex_);
  ++unloaded_;
  forget_all();
}

void FirstUses::forget_all() {
  for (auto& place : seen_) place.store(0, std::memory_order_relaxed);
  handles_.clear();
  much_local_.clear();
  some_.store(false);
}

// A key can stand at two places, if one before it became free.
void FirstUses::forget(const void* function, Handle& handle) {
  for (const std::uint64_t key : handle.uses)
    for (std::size_t look = 0; look < kLooks; ++look) {
      std::atomic<std::uint64_t>& place = seen_[((key >> 32) + look) % kPlaces];
      if (place.load(std::memory_order_relaxed) == key) place.store(0, std::memory_order_relaxed);
    }
  handle.uses.clear();
  much_local_.erase(function);
  some_.store(!much_local_.empty());
}

bool FirstUses::note(const void* handle, CUfunction function) {
  int bytes = 0;
  if (cuda.cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) != CUDA_SUCCESS)
    return false;
  const std::lock_guard lock(mutex_);
  if (bytes > kMuchLocal)
    much_local_.insert(handle);
  else
    much_local_.erase(handle);
  some_.store(!much_local_.empty());
  return true;
}

bool FirstUses::needs_much_local(const void* function) {
  if (!some_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  return much_local_.count(function) != 0;
}

}  // namespace gangway::intercept

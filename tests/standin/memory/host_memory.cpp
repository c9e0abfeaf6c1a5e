#include "tests/standin/memory/host_memory.hpp"

#include <cstdlib>
#include <iterator>
#include <new>

#include "api.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/graphs/capture.hpp"
#include "tests/standin/memory/arena.hpp"

namespace gangway::standin {

std::map<std::uint64_t, HostRange>& host_ranges() {
  static auto* const all = new std::map<std::uint64_t, HostRange>;
  return *all;
}

std::map<std::uint64_t, HostRange>::const_iterator host_range(std::uint64_t address) {
  auto& ranges = host_ranges();
  const auto after = ranges.upper_bound(address);
  if (after == ranges.begin()) return ranges.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.size ? found : ranges.end();
}

void free_managed_of(const Context& owner) {
  std::erase_if(host_ranges(), [&](const auto& one) {
    const bool gone = one.second.managed && one.second.owner == &owner;
    if (gone) std::free(reinterpret_cast<void*>(one.first));
    return gone;
  });
}

bool is_pageable(std::uint64_t address) {
  return !Arena::holds(address) && host_range(address) == host_ranges().end();
}

namespace api {
namespace {

// STANDIN_HOST_MEMORY: bytes that can be pinned.
void require_room(std::size_t bytes) {
  static const auto most = static_cast<std::size_t>(environment_number("STANDIN_HOST_MEMORY", 1e15));
  std::size_t pinned = bytes;
  for (const auto& [start, range] : host_ranges())
    if (!range.managed) pinned += range.size;
  require(pinned <= most, CUDA_ERROR_OUT_OF_MEMORY);
}

void* allocate(std::size_t bytes, unsigned flags) {
  current();
  refuse_unsafe();
  if (bytes == 0) return nullptr;
  require_room(bytes);
  void* memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == nullptr) throw std::bad_alloc();
  host_ranges()[address_of(memory)] = {bytes, flags, false, false};
  return memory;
}

}  // namespace

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned flags) {
  const Lock lock = lock_driver();
  require(pp != nullptr);
  require((flags & ~7U) == 0);
  *pp = allocate(bytesize, flags);
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) {
  const Lock lock = lock_driver();
  require(pp != nullptr);
  *pp = allocate(bytesize, 0);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void* p) {
  Lock lock = lock_driver();
  const auto context = current();
  refuse_unsafe();
  const auto found = host_ranges().find(address_of(p));
  require(found != host_ranges().end() && !found->second.registered && !found->second.managed);
  synchronize(lock, *context);
  host_ranges().erase(address_of(p));
  std::free(p);
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned flags) {
  const Lock lock = lock_driver();
  current();
  refuse_unsafe();
  require(p != nullptr && bytesize > 0 && (flags & ~15U) == 0);
  const auto after = host_ranges().lower_bound(address_of(p));
  const bool overlaps = host_range(address_of(p)) != host_ranges().end() ||
                        (after != host_ranges().end() && after->first < address_of(p) + bytesize);
  const auto within = host_range(address_of(p));
  require(within == host_ranges().end() || within->second.registered);
  require(!overlaps, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  require_room(bytesize);
  host_ranges()[address_of(p)] = {bytesize, flags, true, false};
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void* p) {
  Lock lock = lock_driver();
  const auto context = current();
  refuse_unsafe();
  const auto found = host_ranges().find(address_of(p));
  require(found != host_ranges().end(), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  require(found->second.registered);
  synchronize(lock, *context);
  host_ranges().erase(address_of(p));
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned flags) {
  const Lock lock = lock_driver();
  current();
  require(pdptr != nullptr && flags == 0);
  require(host_range(address_of(p)) != host_ranges().end());
  *pdptr = address_of(p);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned* pFlags, void* p) {
  const Lock lock = lock_driver();
  current();
  require(pFlags != nullptr);
  const auto found = host_range(address_of(p));
  require(found != host_ranges().end());
  *pFlags = found->second.flags;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned flags) {
  const Lock lock = lock_driver();
  require(dptr != nullptr && bytesize > 0 && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST));
  void* memory = allocate(bytesize, 0);
  HostRange& range = host_ranges()[address_of(memory)];
  range.managed = true;
  range.owner = current().get();
  *dptr = address_of(memory);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace gangway::standin

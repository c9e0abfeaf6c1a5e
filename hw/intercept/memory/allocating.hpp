// What all allocations of device memory share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hw/intercept/memory/served.hpp"

namespace gangway::intercept {

// What the calling thread allocates belongs to. An error of the driver.
CUresult owner_here(live::ManagedMemory::Owner& owner);
// The driver's own answer to an allocation now: a capture under way may forbid it, or the context is lost.
CUresult allowed_now();
// From managed memory.
CUresult allocate(live::ManagedMemory& memory, CUdeviceptr* address, std::size_t size,
                  const live::ManagedMemory::Owner& owner);
// From the driver, in counted room. `call` is the driver's call, which sets the address; `context`: whose end
// frees it; 0: none.
template <typename Call>
CUresult counted(const CUdeviceptr* address, std::size_t size, std::uint64_t context, Call call) {
  return in_counted_room(address != nullptr ? size : 0, context, [&](std::uint64_t* made) {
    const CUresult result = call();
    if (made != nullptr && result == CUDA_SUCCESS) *made = *address;
    return result;
  });
}

}  // namespace gangway::intercept

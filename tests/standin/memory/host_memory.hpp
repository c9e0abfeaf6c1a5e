// Host memory that the driver knows: pinned by it, or registered.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace gangway::standin {

struct Context;

struct HostRange {
  std::size_t size = 0;
  unsigned flags = 0;
  bool registered = false;  // else allocated by the driver
  bool managed = false;
  const Context* owner = nullptr;  // of managed memory: whose end frees it
};

// By address. Guarded by the driver's lock.
std::map<std::uint64_t, HostRange>& host_ranges();

// The range that holds the address, or end().
std::map<std::uint64_t, HostRange>::const_iterator host_range(std::uint64_t address);

void free_managed_of(const Context& owner);

bool is_pageable(std::uint64_t address);  // neither device memory nor a range of these

inline std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace gangway::standin

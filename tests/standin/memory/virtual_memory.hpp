// The driver's virtual memory: addresses that are reserved, physical memory that is created, and where it is
// mapped. What nobody has created, mapped and made accessible is no memory of the process either, so that a
// kernel that uses it ends as on a GPU. New physical memory holds other bytes than it held before.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tests/standin/memory/arena.hpp"

namespace gangway::standin {

struct Physical {
  CUmemGenericAllocationHandle number = 0;
  int file = -1;
  std::size_t size = 0;
  CUmemAllocationProp properties{};
  unsigned references = 1;
  bool imported = false;
  Physical() = default;
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical();  // its room on the device is free
};

class VirtualMemory {
 public:
  static constexpr std::size_t kGranularity = 2 << 20;
  static VirtualMemory& get();
  static bool holds(std::uint64_t address);  // whether such memory may be there; needs no lock

  CUdeviceptr reserve(std::size_t bytes, std::size_t alignment, CUdeviceptr wanted);
  void give_back(CUdeviceptr, std::size_t bytes);
  CUmemGenericAllocationHandle create(std::size_t bytes, const CUmemAllocationProp&);
  // Of what was created with `requestedHandleTypes`: a new descriptor of its file, which is its memory.
  // Memory of a file counts for each process that has a handle, and for none while only files are open.
  int export_file(CUmemGenericAllocationHandle);
  CUmemGenericAllocationHandle import_file(int file);
  Physical& physical(CUmemGenericAllocationHandle);
  void release(CUmemGenericAllocationHandle);
  void map(CUdeviceptr, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle);
  void unmap(CUdeviceptr, std::size_t bytes);
  void set_access(CUdeviceptr, std::size_t bytes, CUmemAccess_flags);
  CUmemAccess_flags access(CUdeviceptr) const;
  CUmemGenericAllocationHandle retain(CUdeviceptr);

  Arena::Range range_of(CUdeviceptr) const;            // the mapping
  std::vector<std::shared_ptr<Physical>> all() const;  // that there is, once each
  bool usable(CUdeviceptr, std::size_t bytes) const;   // mapped and accessible throughout

 private:
  struct Mapping {
    std::size_t size = 0;
    std::shared_ptr<Physical> physical;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  };
  std::map<CUdeviceptr, Mapping>::const_iterator mapping(CUdeviceptr) const;

  std::map<CUdeviceptr, std::size_t> reserved_;
  std::map<CUdeviceptr, Mapping> mappings_;
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<Physical>> handles_;
  CUmemGenericAllocationHandle last_ = 0;
};

}  // namespace gangway::standin

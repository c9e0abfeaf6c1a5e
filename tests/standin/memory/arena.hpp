// Device memory: a range of the process's own addresses, the same in every run where that is possible. All
// devices share it; each allocation is counted on its own.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace gangway::standin {

struct Context;

class Arena {
 public:
  static Arena& get();
  static bool holds(std::uint64_t address);  // whether it is device memory; needs no lock

  // Fails with OUT_OF_MEMORY. `owner`: whose end frees it; null: no context's.
  CUdeviceptr take(std::size_t bytes, int device, const Context* owner = nullptr);
  void release(CUdeviceptr);                    // fails with INVALID_VALUE
  void release_of(const Context& owner);        // all that it owns
  std::size_t total() const { return total_; }  // of each device
  static std::size_t used(int device);          // by all processes

  struct Range {
    CUdeviceptr start = 0;
    std::size_t size = 0;  // 0: the address is in no allocation
    int device = 0;
    const Context* owner = nullptr;  // null: no context's
    std::uint64_t number = 0;        // of the allocation
    bool sync_memops = false;
  };
  Range range_of(CUdeviceptr) const;
  void set_sync_memops(CUdeviceptr, bool set);  // NOT_SUPPORTED: of mapped memory
  std::vector<Range> taken() const;             // as rounded up

 private:
  Arena();

  std::uint64_t start_ = 0;
  std::size_t total_ = 0;
  std::map<CUdeviceptr, std::size_t> free_;  // size, by address
  struct Taken {
    std::size_t asked = 0, size = 0;  // as asked for, as rounded up
    int device = 0;
    const Context* owner = nullptr;
    std::uint64_t number = 0;
    bool sync_memops = false;
  };
  std::map<CUdeviceptr, Taken> taken_;
  std::uint64_t last_number_ = 0;
};

}  // namespace gangway::standin

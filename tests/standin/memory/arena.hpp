// Device memory: a range of the process's own addresses, the same in every run where that is possible.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace gangway::standin {

class Arena {
 public:
  static Arena& get();
  static bool holds(std::uint64_t address);  // whether it is device memory; needs no lock

  CUdeviceptr take(std::size_t bytes);  // fails with OUT_OF_MEMORY
  void release(CUdeviceptr);            // fails with INVALID_VALUE
  std::size_t total() const { return total_; }
  static std::size_t used();  // by all processes

  struct Range {
    CUdeviceptr start = 0;
    std::size_t size = 0;  // 0: the address is in no allocation
  };
  Range range_of(CUdeviceptr) const;
  std::vector<Range> taken() const;  // as rounded up

 private:
  Arena();

  std::uint64_t start_ = 0;
  std::size_t total_ = 0;
  std::map<CUdeviceptr, std::size_t> free_;                           // size, by address
  std::map<CUdeviceptr, std::pair<std::size_t, std::size_t>> taken_;  // as asked for, as rounded up
};

}  // namespace gangway::standin

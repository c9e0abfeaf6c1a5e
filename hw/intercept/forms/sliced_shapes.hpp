// The times of a kernel's slices, by the shape of its launches.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "hw/live/launch_book.hpp"

namespace gangway::intercept {

class SlicedShapes {
 public:
  struct Shape {
    std::uint32_t blocks = 0, threads = 0, shared_bytes = 0;
    std::uint32_t resident = 1;  // blocks that the GPU holds at once
    bool operator<(const Shape& other) const {
      return std::tie(blocks, threads, shared_bytes) <
             std::tie(other.blocks, other.threads, other.shared_bytes);
    }
  };
  live::SlicedKernel of(const Shape& shape);
  // A slice of so many blocks took that long on the device.
  void took(const Shape& shape, std::uint32_t blocks, std::int64_t ns);

 private:
  struct Seen {
    std::uint32_t number = 0;    // of all kernels' shapes, from 1
    double waves = 0, time = 0;  // of the latest slices; ns
  };
  Seen& seen(const Shape& shape);

  std::mutex mutex_;
  std::map<Shape, Seen> seen_;
};

}  // namespace gangway::intercept

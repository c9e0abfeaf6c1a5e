// Copies and memsets as commands; graphs have them as nodes.
#pragma once

#include <cuda.h>

#include <vector>

#include "tests/standin/engine/operation.hpp"

namespace gangway::standin {

// Rows of `width` bytes, `height` times.
struct CopyCommand : Command {
  const char* name() const override { return "copy"; }
  bool takes_connection() const override { return false; }
  void run() const override;

  std::uint64_t to = 0, from = 0;
  std::size_t width = 0, height = 1, to_pitch = 0, from_pitch = 0;
  std::vector<char> staged;  // what pageable memory held when the call was made; then `from` does not count
};

// Rows of `width` elements of 1, 2 or 4 bytes.
struct SetCommand : Command {
  const char* name() const override { return "set"; }
  void run() const override;

  std::uint64_t to = 0;
  unsigned value = 0, element = 1;
  std::size_t width = 0, height = 1, pitch = 0;
};

// Fail with INVALID_VALUE. Called under the driver's lock.
void check_transfer(const CopyCommand&);
void check_transfer(const SetCommand&);
CopyCommand copy_of(const CUDA_MEMCPY2D&);
CopyCommand copy_of(const CUDA_MEMCPY3D&);  // of depth 1
SetCommand set_of(const CUDA_MEMSET_NODE_PARAMS&);

}  // namespace gangway::standin

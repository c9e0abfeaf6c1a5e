// Kernels by hand, in the frame that random ones have.
#pragma once

#include <string>

#include "tests/ptx/generator/generator.hpp"

namespace gangway::testing::ptx {

// A module with one kernel, of one grid dimension, that is given the 8 bytes at `out`. What it finds: %linear
// and %grid (the thread in its block, the block in its grid), %region and %mine (the block's and the thread's
// own output; the first 16 bytes of a region are 0 at first), %v0-%v5 (%v0 = 7 * thread + block), %p0-%p8,
// %t0-%t9, %w0-%w9 and the shared array own of 4 bytes a thread. What is in %v0 at the end is its output.
struct Handmade {
  std::string body;
  std::string declarations;  // of the module
  std::uint32_t threads = 64, blocks = 9;

  RandomModule module() const;
};

}  // namespace gangway::testing::ptx

// Measures on a device what reading an eviction flag costs its blocks. Times are by the device's clock.
#pragma once

#include <cstdint>

#include "models/quantity.hpp"

namespace gangway {

class PollProbe {
 public:
  // What a block does between two pieces of work: nothing; it claims the next one; or it looks at a proxy's
  // copy of the flag, and then claims.
  enum class Between { nothing, claim, look };

  virtual ~PollProbe() = default;

  // `blocks` blocks start together. One thread of each reads the same word of host memory `reads` times, one
  // read after another. Returns the time from the first block's first read to the last block's last. Waits.
  // Throws RunError, also if that many blocks do not fit on the device at once.
  virtual Duration read_host(std::int64_t blocks, std::int64_t reads) = 0;

  // Launches as many persistent blocks as fit, each doing `pieces` equal pieces of work: block-tasks, or all
  // in one if there is nothing between them. Returns the time from the first claim to the last block's end.
  // Waits. Throws RunError.
  virtual Duration work(std::int64_t pieces, Between between) = 0;
};

}  // namespace gangway

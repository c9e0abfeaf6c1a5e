// What a device does to show what reading an eviction flag costs its blocks. All times are by its own clock.
#pragma once

#include <cstdint>

#include "models/quantity.hpp"

namespace gangway {

class PollProbe {
 public:
  virtual ~PollProbe() = default;

  // `blocks` blocks begin together. One thread of each reads one and the same word of host memory `reads`
  // times, each time when the read before has been answered. From the first block's first read to the last
  // block's last one. Waits. Throws RunError, also where so many blocks are not on the device at once.
  virtual Duration read_host(std::int64_t blocks, std::int64_t reads) = 0;

  // A launch of as many persistent blocks as fit on the device, each of which does `pieces` pieces of work of
  // one length: polled, each piece is a block-task, after which the block claims the next one and so looks at
  // the flag; not polled, all of a block's pieces are one block-task. From the first block's start to the
  // last one's end. Waits. Throws RunError.
  virtual Duration work(std::int64_t pieces, bool polled) = 0;
};

}  // namespace gangway

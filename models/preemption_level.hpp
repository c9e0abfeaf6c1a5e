// How finely kernels leave a device to others.
#pragma once

namespace gangway {

// From coarse to fine. A mechanism needs one of them; a device that offers one offers all coarser ones, too.
enum class PreemptionLevel {
  whole,       // when the kernel is done
  slice,       // at the end of a launch, which may be of some of its block-tasks only
  block_task,  // in the middle of a launch, when the block-tasks end that its blocks are at
};

// "whole kernels", "slices", "block-tasks".
constexpr const char* text_of(PreemptionLevel level) {
  switch (level) {
    case PreemptionLevel::whole:
      return "whole kernels";
    case PreemptionLevel::slice:
      return "slices";
    case PreemptionLevel::block_task:
      break;
  }
  return "block-tasks";
}

}  // namespace gangway

// How finely kernels can be preempted.
#pragma once

namespace gangway {

// From coarse to fine. A mechanism needs one level; a device that offers a level offers all coarser ones.
enum class PreemptionLevel {
  whole,       // at the end of the kernel
  slice,       // at the end of a launch, which may cover only some block-tasks
  block_task,  // within a launch, when the current block-tasks end
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

// State and TaskId (FRS paper, III-A), as CPU cores and GPUs run them.
//
// Both live in one 64-bit word, so that one atomic addition takes a block-task index and sees the flag: the
// low half counts claims, the high half names the launch that has to leave (0: none). A persistent block
// claims until a claim fails; all claims before the flag are carried out and none after it, so the
// block-tasks done are always a prefix, and their number is the claims less one failed claim for each block.
// The flag names a launch, so that one which arrives late cannot evict the next launch.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define GANGWAY_ANYWHERE __host__ __device__
#else
#define GANGWAY_ANYWHERE
#endif

namespace gangway {

using ControlWord = unsigned long long;

// One launch as its blocks know it. Launches are numbered from 1 and never repeat within 2^32.
struct LaunchTask {
  std::uint32_t launch = 0;
  std::uint32_t first = 0, last = 0;  // block-tasks [first, last) of the original grid
  std::uint32_t blocks = 0;           // persistent blocks
};

// How persistent blocks find out that they have to leave. For each form the workers of hw/host/ and
// persistent() in hw/cuda/preemptible.cuh have code of their own.
enum class PollingForm : std::uint8_t {
  claim,  // each claim of a block-task: the addition that takes an index sees the flag
};
inline constexpr std::size_t kPollingForms = 1;

// Claims on one word never overflow its low half while block-tasks and persistent blocks stay below this.
inline constexpr std::uint32_t kMostBlockTasks = 1u << 30;

struct Claim {
  bool run = false;
  std::uint32_t index = 0;  // block-task of the original grid
};

// What the value of the word before the addition means.
GANGWAY_ANYWHERE constexpr Claim claim_of(ControlWord before, const LaunchTask& task) {
  const std::uint32_t taken = static_cast<std::uint32_t>(before);
  if (static_cast<std::uint32_t>(before >> 32) == task.launch || taken >= task.last - task.first)
    return {false, 0};
  return {true, task.first + taken};
}

// Block-tasks of the kernel done in all, once every block of the launch has failed a claim.
GANGWAY_ANYWHERE constexpr std::uint32_t done_after(ControlWord word, const LaunchTask& task) {
  return task.first + (static_cast<std::uint32_t>(word) - task.blocks);
}

}  // namespace gangway

// State and TaskId (FRS paper, III-A), for CPU cores and GPUs.
//
// Both share one 64-bit word, so that one atomic addition takes a block-task index and reads the flag: the
// low half counts claims, the high half names the launch that must leave (0: none). A persistent block claims
// until a claim fails. All claims before the flag are carried out and none after it, so the finished
// block-tasks are a prefix; their number is the claims minus one failed claim per block. Because the flag
// names a launch, a late flag cannot evict the next launch. EffiSha's forms keep the flag in a separate word;
// the rest is the same.
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

// A launch as its blocks see it. Launches are numbered from 1, unique within 2^32.
struct LaunchTask {
  std::uint32_t launch = 0;
  std::uint32_t first = 0, last = 0;  // block-tasks [first, last) of the original grid
  std::uint32_t blocks = 0;           // persistent blocks
};

// How blocks learn that they must leave. Each form has its own code in hw/host/ and hw/cuda/persistent.cuh.
// Under `host` and `proxy` the flag is a separate word, read before each claim; the control word's high half
// is unused.
enum class PollingForm : std::uint8_t {
  claim,  // the claim itself: the addition that takes an index reads the flag
  host,   // each block reads the scheduler's word before each claim (EffiSha, 6.2)
  proxy,  // one block does no block-tasks; it reads that word and copies it for the others (EffiSha, 6.3)
  none,   // never: blocks of the original kernel, one per block-task, cannot be evicted
};
inline constexpr std::size_t kPollingForms = 4;

// Below this number of block-tasks plus persistent blocks, claims never overflow the low half.
inline constexpr std::uint32_t kMostBlockTasks = 1u << 30;

struct Claim {
  bool run = false;
  std::uint32_t index = 0;  // block-task of the original grid
};

// Interprets the word's value before the addition.
GANGWAY_ANYWHERE constexpr Claim claim_of(ControlWord before, const LaunchTask& task) {
  const std::uint32_t taken = static_cast<std::uint32_t>(before);
  if (static_cast<std::uint32_t>(before >> 32) == task.launch || taken >= task.last - task.first)
    return {false, 0};
  return {true, task.first + taken};
}

// Finished block-tasks of the kernel in total, once every block of the launch has left.
GANGWAY_ANYWHERE constexpr std::uint32_t done_after(PollingForm form, ControlWord word,
                                                    const LaunchTask& task) {
  const std::uint32_t taken = static_cast<std::uint32_t>(word), all = task.last - task.first;
  switch (form) {
    case PollingForm::claim:  // each block has one failed claim
      return task.first + (taken - task.blocks);
    case PollingForm::host:
    case PollingForm::proxy:  // a block that sees the flag does not claim, so only claims beyond the range
                              // fail
      return task.first + (taken < all ? taken : all);
    case PollingForm::none:
      break;
  }
  return task.last;
}

// For EffiSha's adaptive checking (6.3): the lengths of blocks' first block-tasks in one word. Sum in ns; the
// low 16 bits hold their number, at most that of persistent blocks.
using TaskSamples = unsigned long long;
GANGWAY_ANYWHERE constexpr TaskSamples sample_of(std::uint64_t ns) { return ns << 16 | 1; }
// Block-tasks per look at the flag, for looks `interval` ns apart. At least one block must have been sampled.
GANGWAY_ANYWHERE constexpr std::uint32_t tasks_between_looks(std::uint64_t interval, TaskSamples samples) {
  const std::uint64_t length = (samples >> 16) / (samples & 0xFFFF);
  const std::uint64_t tasks = interval / (length > 0 ? length : 1);
  return tasks == 0 ? 1 : tasks < kMostBlockTasks ? static_cast<std::uint32_t>(tasks) : kMostBlockTasks;
}

}  // namespace gangway

// State and TaskId (FRS paper, III-A), as CPU cores and GPUs run them.
//
// Both live in one 64-bit word, so that one atomic addition takes a block-task index and sees the flag: the
// low half counts claims, the high half names the launch that has to leave (0: none). A persistent block
// claims until a claim fails; all claims before the flag are carried out and none after it, so the
// block-tasks done are always a prefix, and their number is the claims less one failed claim for each block.
// The flag names a launch, so that one which arrives late cannot evict the next launch. EffiSha's forms keep
// the flag in a word apart, and the rest is the same.
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

// How blocks find out that they have to leave. For each form the workers of hw/host/ and the kernels of
// hw/cuda/persistent.cuh have code of their own. Under `host` and `proxy` the flag is a word apart, so blocks
// look at it before they claim, and the high half of the control word says nothing.
enum class PollingForm : std::uint8_t {
  claim,  // each claim of a block-task: the addition that takes an index sees the flag
  host,   // each block reads the scheduler's word before each claim (EffiSha, 6.2)
  proxy,  // one block does no block-tasks: it reads that word and keeps a copy for the others (EffiSha, 6.3)
  none,   // not at all: blocks of the original kernel, one for each block-task, which nothing calls back
};
inline constexpr std::size_t kPollingForms = 4;

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

// Block-tasks of the kernel done in all, once every block of the launch has left.
GANGWAY_ANYWHERE constexpr std::uint32_t done_after(PollingForm form, ControlWord word,
                                                    const LaunchTask& task) {
  const std::uint32_t taken = static_cast<std::uint32_t>(word), all = task.last - task.first;
  switch (form) {
    case PollingForm::claim:  // each block has failed one claim
      return task.first + (taken - task.blocks);
    case PollingForm::host:
    case PollingForm::proxy:  // a block that sees the flag does not claim, so claims fail beyond the range
                              // only
      return task.first + (taken < all ? taken : all);
    case PollingForm::none:
      break;
  }
  return task.last;
}

// EffiSha's adaptive checking (6.3). The lengths of blocks' first block-tasks, in one word: their sum in ns
// and, in the low 16 bits, their number, which is that of persistent blocks at most.
using TaskSamples = unsigned long long;
GANGWAY_ANYWHERE constexpr TaskSamples sample_of(std::uint64_t ns) { return ns << 16 | 1; }
// Of how many block-tasks one follows a look at the flag, when looks are to be `interval` ns apart. At least
// one block has been sampled.
GANGWAY_ANYWHERE constexpr std::uint32_t tasks_between_looks(std::uint64_t interval, TaskSamples samples) {
  const std::uint64_t length = (samples >> 16) / (samples & 0xFFFF);
  const std::uint64_t tasks = interval / (length > 0 ? length : 1);
  return tasks == 0 ? 1 : tasks < kMostBlockTasks ? static_cast<std::uint32_t>(tasks) : kMostBlockTasks;
}

}  // namespace gangway

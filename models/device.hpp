// A GPU as a device file describes it.
#pragma once

#include <string>

#include "models/gpu_rules.hpp"
#include "models/input/field.hpp"
#include "models/queue_order.hpp"
#include "models/workload.hpp"

namespace gangway {

struct MultiprocessorLimits {
  std::int64_t threads = 2048, blocks = 32, registers = 65536;
  Bytes shared_memory;
};

struct CopyEngine {
  Bandwidth bandwidth;
  Duration latency;
};

// Delays of the scheduler's commands (FRS paper, II and III-B).
struct CommandCosts {
  Duration launch;        // from the order to the first block
  Duration evict;         // from the order until running blocks see the flag
  Duration notice;        // from the last block's end until the scheduler has seen it
  Duration pending_work;  // reading the task counter
};

// What reading an eviction flag costs (EffiSha, 6.3).
struct PollCosts {
  Duration host;    // one read of host memory; the reads of all blocks go one after the other
  Duration device;  // one read of device memory, by a block between two block-tasks
};

// Which SM with room for a block takes it; the lowest index where that leaves a choice.
enum class Placement { most_room_first, lowest_index_first };

struct Device {
  std::string name;
  std::string source;
  bool pool =
      false;  // layout: one pool of threads and nothing else, as in Yang and Anderson; `sms` is then 1
  std::int64_t sms = 1;
  MultiprocessorLimits sm;
  Placement placement = Placement::most_room_first;  // room: how many more such blocks fit
  QueueOrder queue_order = QueueOrder::became_head;
  std::int64_t priorities = 1;           // primary queues; clients of higher priority share the highest
  std::optional<std::int64_t> channels;  // none: one for each stream
  RuleSet rules;
  Bytes memory;
  CopyEngine h2d, d2h;
  CommandCosts commands;
  std::optional<PollCosts> polls;  // none: not known
};

// Blocks of the kernel that can be resident on the device at once; 0 when one block exceeds an SM.
std::int64_t resident_blocks(const Device& device, const Kernel& kernel);

// How long one block of the original kernel runs: as the file says, or such that the kernel alone on the
// device, in whole waves of resident blocks, takes its time (rounded up to a ns).
Duration block_length(const Device& device, const Kernel& kernel);

// Reads a `kind: device` mapping. Throws InputError.
Device read_device(const Field& field);

}  // namespace gangway

// A GPU as a device file describes it.
#pragma once

#include <string>

#include "models/input/field.hpp"
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

struct Device {
  std::string name;
  std::string source;
  std::int64_t sms = 1;
  MultiprocessorLimits sm;
  Bytes memory;
  CopyEngine h2d, d2h;
  CommandCosts commands;
};

// Blocks of the kernel that can be resident on the device at once; 0 when one block exceeds an SM.
std::int64_t resident_blocks(const Device& device, const Kernel& kernel);

// Reads a `kind: device` mapping. Throws InputError.
Device read_device(const Field& field);

}  // namespace gangway

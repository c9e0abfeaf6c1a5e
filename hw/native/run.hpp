// Native clients' resources on a device, and what they submit in one run. A process that plays some of the
// clients receives its part of both (wire.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/copy_direction.hpp"
#include "models/kernel_code.hpp"
#include "models/policy.hpp"

namespace gangway {

struct NativeStream {
  bool null = false;  // the stream that every other stream synchronises with
  std::int32_t priority = 0;
  friend bool operator==(const NativeStream&, const NativeStream&) = default;
};

// A kernel as the device runs it: the original form of its code or, without code, blocks that stay busy for
// `length`.
struct NativeKernel {
  std::uint32_t blocks = 1;
  Dimensions block{1, 1, 1};
  std::uint32_t registers = 0;  // of busy blocks, per thread; 0: few
  Bytes shared_memory;          // of busy blocks
  Duration length;              // of busy blocks
  std::shared_ptr<const KernelCode> code = nullptr;
  std::string code_text = {};    // as in files
  std::uint64_t input_seed = 0;  // of the data that the code processes
};

struct NativeSetup {
  std::vector<NativeStream> streams;
  std::vector<std::uint32_t> stream_of;            // by client
  std::vector<std::vector<NativeKernel>> kernels;  // by client; empty for clients of other processes
  Bytes longest_copy;
  Duration watchdog;  // everything must be over this long after the last call
};

// A kernel or copy of a job's program. Copies and kernels with code are timed by an event behind them, busy
// blocks by their stamps. A kernel with code also records its first block's start.
struct NativeOperation {
  JobId job;
  std::uint32_t stream = 0;
  bool copy = false;
  CopyDirection direction = CopyDirection::to_device;
  Bytes size;                     // of a copy
  std::uint32_t kernel = 0;       // of the client
  LaunchId launch;                // 0: a copy
  bool coded = false;             // a kernel with code
  std::uint64_t first_stamp = 0;  // of busy blocks; index within the run
  std::uint32_t event = 0;        // of a copy or a kernel with code; index within the run
  std::uint32_t start = 0;        // of a kernel with code; index within the run
  bool timed_by_event() const { return copy || coded; }
};

struct NativeRelease {
  Time time;
  JobId job;
  std::size_t first = 0, count = 0;  // operations, issued together in order
};

struct NativeRun {
  std::vector<NativeRelease> releases;  // by time, then client
  std::vector<NativeOperation> operations;
  std::uint64_t stamps = 0;  // busy blocks of all launches
  std::uint32_t events = 0, starts = 0;

  std::span<const NativeOperation> operations_of(const NativeRelease& release) const {
    return std::span(operations).subspan(release.first, release.count);
  }
  // Appends an operation to the last release, with the next indices. `blocks`: of a busy kernel.
  NativeOperation& add(NativeOperation operation, std::uint32_t blocks);
};

// A block, on the run's clock.
struct BlockStamp {
  Time began, ended;
  std::uint32_t sm = 0;
};

// Measurements of one run, by operation unless stated.
struct NativeMeasurement {
  std::vector<Time> issued;        // just before the call
  std::vector<Time> began;         // by start: the first block's start
  std::vector<Time> ended;         // by event
  std::vector<BlockStamp> blocks;  // by launch of busy blocks, then block
  std::size_t operations = 0;      // issued (fewer than planned if the run was stopped)
  std::size_t releases = 0;        // likewise
  Duration uncertainty;            // error bound of the device's times
  std::vector<Duration> late;      // by release: from when it was due to its first call
  Duration lasted, off_cpu;  // of the issuing thread: time at work, and without a processor in that time
};

// The clients of one process: their part of a run, with their own streams, and where its operations are in
// the whole.
struct NativePart {
  NativeRun run;
  std::vector<std::size_t> operations, releases;
};
NativeSetup part_of(const NativeSetup& setup, const std::vector<std::uint32_t>& clients);
NativePart part_of(const NativeRun& run, const NativeSetup& setup, const std::vector<std::uint32_t>& clients);

// Combines the measurements of `parts`, one for each. For stopped runs: what was issued before the first
// release that was not.
NativeMeasurement together(const NativeRun& whole, std::span<const NativePart> parts,
                           std::span<const NativeMeasurement> measured);

}  // namespace gangway

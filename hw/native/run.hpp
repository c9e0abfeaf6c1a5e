// What native clients have on a device, and what they submit to it in one run: all that whoever plays it
// needs to know. A process that plays some of the clients gets its part of both (wire.hpp).
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
  bool null = false;  // the stream that every other stream waits for
  std::int32_t priority = 0;
  friend bool operator==(const NativeStream&, const NativeStream&) = default;
};

// A kernel of the workload as the device runs it: the original form of its code, or, where it has none,
// blocks that are busy for `length`.
struct NativeKernel {
  std::uint32_t blocks = 1;
  Dimensions block{1, 1, 1};
  std::uint32_t registers = 0;  // per thread; 0: few; of busy blocks
  Bytes shared_memory;          // likewise
  Duration length;              // likewise
  std::shared_ptr<const KernelCode> code = nullptr;
  std::string code_text = {};    // as files write it
  std::uint64_t input_seed = 0;  // of the data that the code works on
};

struct NativeSetup {
  std::vector<NativeStream> streams;
  std::vector<std::uint32_t> stream_of;            // by client
  std::vector<std::vector<NativeKernel>> kernels;  // by client; of clients that play elsewhere none
  Bytes longest_copy;
  Duration watchdog;  // so long after the last call everything must be over
};

// A kernel or a copy of a job's program. Copies and kernels with code are timed by an event behind them,
// busy blocks by the stamps that they leave; a kernel with code also leaves the time of its first block.
struct NativeOperation {
  JobId job;
  std::uint32_t stream = 0;
  bool copy = false;
  CopyDirection direction = CopyDirection::to_device;
  Bytes size;                     // of a copy
  std::uint32_t kernel = 0;       // of the client
  LaunchId launch;                // 0: a copy
  bool coded = false;             // a kernel with code
  std::uint64_t first_stamp = 0;  // of busy blocks, among all of the run
  std::uint32_t event = 0;        // of a copy or a kernel with code, among those of the run
  std::uint32_t start = 0;        // of a kernel with code, among those of the run
  bool timed_by_event() const { return copy || coded; }
};

struct NativeRelease {
  Time time;
  JobId job;
  std::size_t first = 0, count = 0;  // operations, issued one after the other, at once
};

struct NativeRun {
  std::vector<NativeRelease> releases;  // by time, then client
  std::vector<NativeOperation> operations;
  std::uint64_t stamps = 0;  // busy blocks of all launches
  std::uint32_t events = 0, starts = 0;

  std::span<const NativeOperation> operations_of(const NativeRelease& release) const {
    return std::span(operations).subspan(release.first, release.count);
  }
  // Appends an operation of the last release, with the next numbers. `blocks`: of a busy kernel.
  NativeOperation& add(NativeOperation operation, std::uint32_t blocks);
};

// One block, by the clock of the run.
struct BlockStamp {
  Time began, ended;
  std::uint32_t sm = 0;
};

// Of one run; by operation where nothing else is said.
struct NativeMeasurement {
  std::vector<Time> issued;        // just before the call
  std::vector<Time> began;         // by start: the first block's beginning
  std::vector<Time> ended;         // by event
  std::vector<BlockStamp> blocks;  // by launch of busy blocks, then block
  std::size_t operations = 0;      // so many have been issued (fewer than planned when the run was stopped)
  std::size_t releases = 0;        // likewise
  Duration uncertainty;            // of the device's times
  std::vector<Duration> late;      // by release: from when it was due until its first call
  Duration lasted, off_cpu;        // of the thread that issued: at work, and without a processor in that time
};

// The clients that play in one process: their part of a run, with the streams that they use alone, and where
// its operations are in the whole.
struct NativePart {
  NativeRun run;
  std::vector<std::size_t> operations, releases;
};
NativeSetup part_of(const NativeSetup& setup, const std::vector<std::uint32_t>& clients);
NativePart part_of(const NativeRun& run, const NativeSetup& setup, const std::vector<std::uint32_t>& clients);

// Puts what was measured of the parts together. `parts` and `measured` belong together one by one. Of runs
// that were stopped, what was issued before the first release that was not.
NativeMeasurement together(const NativeRun& whole, std::span<const NativePart> parts,
                           std::span<const NativeMeasurement> measured);

}  // namespace gangway

// What native clients submit to a real device's own queues, worked out before the run: streams, operations in
// the order in which they are issued, launches and where their blocks' stamps go. sim/blocks/README.md is the
// model that a real device is held against.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/copy_direction.hpp"
#include "models/world.hpp"

namespace gangway {

struct NativeStream {
  bool null = false;  // the stream that every other stream waits for
  std::int32_t priority = 0;
};

// A kernel of the workload as the device runs it: every block is busy for `length`.
struct NativeKernel {
  std::uint32_t blocks = 1;
  Dimensions block{1, 1, 1};
  std::uint32_t registers = 0;  // per thread; 0: few
  Bytes shared_memory;
  Duration length;
};

// A kernel or a copy of a job's program.
struct NativeOperation {
  JobId job;
  std::uint32_t stream = 0;
  bool copy = false;
  CopyDirection direction = CopyDirection::to_device;
  Bytes size;                     // of a copy
  std::uint32_t kernel = 0;       // of the client
  LaunchId launch;                // 0: a copy
  std::uint64_t first_stamp = 0;  // of its blocks, among all of the run
  std::uint32_t copy_number = 0;  // among the copies of the run
};

struct NativeRelease {
  Time time;
  JobId job;
  std::span<const NativeOperation> operations;  // issued one after the other, at once
};

class NativePlan {
 public:
  // Throws InputError for what a real device cannot do, or what this program does not make it do.
  explicit NativePlan(const WorldSetup& setup);

  const std::vector<NativeStream>& streams() const { return streams_; }
  const NativeKernel& kernel(const NativeOperation& operation) const {
    return kernels_[operation.job.client.index][operation.kernel];
  }
  const std::vector<std::vector<NativeKernel>>& kernels() const { return kernels_; }  // by client
  Bytes longest_copy() const { return longest_copy_; }
  std::int32_t priority(ClientId client) const { return setup_.workload.clients[client.index].priority; }
  std::int64_t standalone_ns(ClientId client) const { return standalone_[client.index]; }

  // From a block's end until its room is free.
  Duration block_end() const { return setup_.device.delays.block_end; }

  // Lays out one run: what is released up to the horizon, in order of time, then of clients. Allocates.
  void lay_out(const RunSeed& seed, std::span<const std::uint32_t> order);
  const std::vector<NativeRelease>& releases() const { return releases_; }
  const std::vector<NativeOperation>& operations() const { return operations_; }
  std::uint64_t stamps() const { return stamps_; }  // blocks of all launches
  std::uint32_t copies() const { return copies_; }

 private:
  void refuse(const Client& client) const;
  void make_streams();
  void add_program(JobId job);

  const WorldSetup setup_;
  std::vector<NativeStream> streams_;
  std::vector<std::uint32_t> stream_of_;  // by client
  std::vector<std::vector<NativeKernel>> kernels_;
  std::vector<std::int64_t> standalone_;
  Bytes longest_copy_;
  std::vector<NativeRelease> releases_;
  std::vector<NativeOperation> operations_;
  std::uint64_t stamps_ = 0, launches_ = 0;
  std::uint32_t copies_ = 0;
};

// Throws InputError for what native clients on a real device cannot be, as NativePlan does, and for a number
// of channels that is not the one which the environment's CUDA_DEVICE_MAX_CONNECTIONS (8 if not set) gives.
void check_native(const WorldSetup& setup);

// Registers per thread that kernels can be given.
inline constexpr std::uint32_t kNativeRegisters[] = {32, 64, 128, 255};

}  // namespace gangway

// What native clients submit to a real device's own queues, worked out before the run: streams, operations in
// the order in which they are issued, launches and where their blocks' stamps go. sim/blocks/README.md is the
// model that a real device is held against.
#pragma once

#include <optional>

#include "hw/native/run.hpp"
#include "models/world.hpp"

namespace gangway {

class NativePlan {
 public:
  // Throws InputError for what a real device cannot do, or what this program does not make it do.
  explicit NativePlan(const WorldSetup& setup);

  const NativeSetup& on_device() const { return on_device_; }
  // Clients that play in one process each; none: all play in this one. As contexts of the model: those that
  // name the same `context` or `stream` are together.
  const std::vector<std::vector<std::uint32_t>>& processes() const { return processes_; }
  bool under_mps() const { return setup_.device.arbitration == Arbitration::mps; }

  const NativeKernel& kernel(const NativeOperation& operation) const {
    return on_device_.kernels[operation.job.client.index][operation.kernel];
  }
  const Client& client(std::uint32_t index) const { return setup_.workload.clients[index]; }
  std::int32_t priority(ClientId client) const { return setup_.workload.clients[client.index].priority; }
  std::int64_t standalone_ns(ClientId client) const { return standalone_[client.index]; }

  // From a block's end until its room is free.
  Duration block_end() const { return setup_.device.delays.block_end; }

  // Lays out one run: what is released up to the horizon, in order of time, then of clients. Allocates.
  void lay_out(const RunSeed& seed, std::span<const std::uint32_t> order);
  const NativeRun& run() const { return run_; }

 private:
  void refuse(const Client& client) const;
  void make_streams();
  void make_processes();
  void add_program(JobId job);

  const WorldSetup setup_;
  NativeSetup on_device_;
  std::vector<std::vector<std::uint32_t>> processes_;
  std::vector<std::int64_t> standalone_;
  NativeRun run_;
  std::uint64_t launches_ = 0;
};

// Throws InputError for what native clients on a real device cannot be, as NativePlan does, and for a number
// of channels that is not the one which the environment's CUDA_DEVICE_MAX_CONNECTIONS (8 if not set) gives.
void check_native(const WorldSetup& setup);

// Registers per thread that busy kernels can be given.
inline constexpr std::uint32_t kNativeRegisters[] = {32, 64, 128, 255};

}  // namespace gangway

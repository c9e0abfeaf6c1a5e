// What native clients submit to a real device's queues, planned before the run: streams, operations in issue
// order, launches, and the places of their blocks' stamps. Its simulated counterpart is sim/blocks/README.md.
#pragma once

#include <optional>

#include "hw/native/run.hpp"
#include "models/world.hpp"

namespace gangway {

class NativePlan {
 public:
  // Throws InputError for what a real device, or this program, cannot do.
  explicit NativePlan(const WorldSetup& setup);

  const NativeSetup& on_device() const { return on_device_; }
  // Clients by process; empty: all in this one. As contexts of the model: clients with the same `context` or
  // `stream` share one.
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

  // Plans one run: what is released up to the horizon, by time, then by client. Allocates.
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

// Throws InputError for impossible native clients, as NativePlan does, and if the number of channels differs
// from CUDA_DEVICE_MAX_CONNECTIONS (8 if unset).
void check_native(const WorldSetup& setup);

// Available register counts per thread of busy kernels.
inline constexpr std::uint32_t kNativeRegisters[] = {32, 64, 128, 255};

}  // namespace gangway

// A kernel instance on a CUDA device: inputs, outputs and both forms. Plain C++, so that kernel files compile
// without a CUDA toolkit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/protocol.hpp"
#include "models/policy.hpp"
#include "models/quantity.hpp"

namespace gangway {

namespace preemptible {
class Session;  // hw/cuda/session.cuh
}

// Resources of one form, as compiled for the device.
struct KernelResources {
  std::int64_t registers = 0;  // per thread
  Bytes shared_memory;         // per block
  std::int64_t blocks_per_sm = 0;
};
struct KernelForms {
  KernelResources original, persistent;
};

// One output in device memory. Block-tasks write it and do not read it, and no two write the same byte.
struct OutputMemory {
  void* at = nullptr;
  std::uint64_t bytes = 0;
};
// A part of outputs()[output].
struct WrittenBytes {
  std::size_t output = 0;
  std::uint64_t first = 0, last = 0;
};

class CudaProblem {
 public:
  virtual ~CudaProblem() = default;
  // Blocks of that form that the device holds at once.
  virtual std::uint32_t room(PollingForm polling) const = 0;
  virtual KernelForms forms(PollingForm polling) const = 0;
  // Return at once. Throw preemptible::Error.
  virtual void launch(preemptible::Session& session, BlockRange range) const = 0;
  virtual void launch_original(preemptible::Session& session) const = 0;
  virtual std::vector<OutputMemory> outputs() const = 0;
  // Share-a-GPU, IV: the map from block-tasks to the addresses that they write, where that is a few
  // contiguous parts. None: each GPU has its own version of all outputs.
  virtual std::optional<std::vector<WrittenBytes>> written(BlockRange) const { return std::nullopt; }
  // As in HostProblem, while nothing runs. Both wait. Throw RunError.
  virtual void poison() = 0;
  virtual std::string difference() const = 0;
};

}  // namespace gangway

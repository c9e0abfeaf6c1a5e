// One instance of a kernel on a CUDA device: inputs, outputs and both forms of the kernel. Plain C++, so that
// kernel files compile without a CUDA toolkit too.
#pragma once

#include <cstdint>
#include <string>

#include "hw/protocol.hpp"
#include "models/policy.hpp"
#include "models/quantity.hpp"

namespace gangway {

namespace preemptible {
class Session;  // hw/cuda/session.cuh
}

// What a form of a kernel takes, as compiled for the device.
struct KernelResources {
  std::int64_t registers = 0;  // per thread
  Bytes shared_memory;         // per block
  std::int64_t blocks_per_sm = 0;
};
struct KernelForms {
  KernelResources original, persistent;
};

class CudaProblem {
 public:
  virtual ~CudaProblem() = default;
  // As many blocks of that form as the device holds at once.
  virtual std::uint32_t room(PollingForm polling) const = 0;
  virtual KernelForms forms(PollingForm polling) const = 0;
  // These return at once. Throw preemptible::Error.
  virtual void launch(preemptible::Session& session, BlockRange range) const = 0;
  virtual void launch_original(preemptible::Session& session) const = 0;
  // As HostProblem does; while nothing runs. Both wait. Throw RunError.
  virtual void poison() = 0;
  virtual std::string difference() const = 0;
};

}  // namespace gangway

// One instance of a kernel on a CUDA device: inputs, outputs and both forms of the kernel. Plain C++, so that
// kernel files compile without a CUDA toolkit too.
#pragma once

#include <cstdint>
#include <string>

#include "hw/protocol.hpp"
#include "models/policy.hpp"

namespace gangway {

namespace preemptible {
class Session;  // hw/cuda/preemptible.cuh
}

class CudaProblem {
 public:
  virtual ~CudaProblem() = default;
  // As many persistent blocks of that form as the device holds at once, no more than there are block-tasks.
  virtual std::int64_t blocks(PollingForm polling) const = 0;
  // These return at once. Throw preemptible::Error.
  virtual void launch(preemptible::Session& session, BlockRange range) const = 0;
  virtual void launch_original(preemptible::Session& session) const = 0;
  // As HostProblem does; while nothing runs. Both wait. Throw RunError.
  virtual void poison() = 0;
  virtual std::string difference() const = 0;
};

}  // namespace gangway

// One instance of a kernel on a CUDA device: inputs, outputs and both forms of the kernel. Plain C++, so that
// kernel files compile without a CUDA toolkit too.
#pragma once

#include <cstdint>
#include <string>

#include "hw/protocol.hpp"
#include "models/policy.hpp"

namespace gangway {

namespace preemptible {
class Session;  // hw/cuda/session.cuh
}

class CudaProblem {
 public:
  virtual ~CudaProblem() = default;
  // As many blocks of that form as the device holds at once.
  virtual std::uint32_t room(PollingForm polling) const = 0;
  // These return at once. Throw preemptible::Error.
  virtual void launch(preemptible::Session& session, BlockRange range) const = 0;
  virtual void launch_original(preemptible::Session& session) const = 0;
  // As HostProblem does; while nothing runs. Both wait. Throw RunError.
  virtual void poison() = 0;
  virtual std::string difference() const = 0;
};

}  // namespace gangway

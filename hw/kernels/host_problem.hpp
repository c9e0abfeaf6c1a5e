// One instance of a kernel on CPU cores: inputs, outputs and the block-tasks between them.
#pragma once

#include <cstdint>
#include <string>

namespace gangway {

class HostProblem {
 public:
  virtual ~HostProblem() = default;
  // Carries out one block-task of the original grid (linear index, x fastest). Called from any thread, for
  // different indices at once; doing one again gives the same output.
  virtual void block_task(std::uint32_t index) = 0;
  // Overwrites the outputs with values that no right result has.
  virtual void poison() = 0;
  // Compares the outputs with the reference, which is computed independently of the block-tasks. Empty when
  // they agree, else what differs first.
  virtual std::string difference() const = 0;
};

}  // namespace gangway

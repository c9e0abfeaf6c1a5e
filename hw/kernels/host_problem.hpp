// A kernel instance on CPU cores: inputs, outputs and block-tasks.
#pragma once

#include <cstdint>
#include <string>

namespace gangway {

class HostProblem {
 public:
  virtual ~HostProblem() = default;
  // Carries out one block-task of the original grid (linear index, x fastest). Thread-safe for different
  // indices; repeating one gives the same output.
  virtual void block_task(std::uint32_t index) = 0;
  // Overwrites the outputs with values that no correct result has.
  virtual void poison() = 0;
  // Compares the outputs with the reference, which is computed independently of block-tasks. Empty if equal,
  // else the first difference.
  virtual std::string difference() const = 0;
};

}  // namespace gangway

// Executable kernels, which a workload names as a kernel's `code`. The simulator uses only their shape; the
// real worlds (hw/) make problems of them: inputs, outputs and block-tasks.
#pragma once

#include <array>
#include <memory>

#include "models/quantity.hpp"
#include "models/registry.hpp"

namespace gangway {

class HostProblem;  // hw/kernels/host_problem.hpp
class CudaProblem;  // hw/kernels/cuda_problem.hpp

using Dimensions = std::array<std::int64_t, 3>;

// A kernel with parameters, i.e. a problem size. Stateless; threads may share it.
class KernelCode {
 public:
  virtual ~KernelCode() = default;
  virtual Dimensions grid() const = 0;   // of the original kernel; one block is one block-task
  virtual Dimensions block() const = 0;  // threads
  virtual Bytes memory() const = 0;      // of inputs and outputs

  // A problem on CPU cores, with inputs drawn from the seed.
  virtual std::unique_ptr<HostProblem> on_host(std::uint64_t seed) const = 0;
  // The same on the current CUDA device; null in a build without CUDA. Throws RunError.
  virtual std::unique_ptr<CudaProblem> on_cuda(std::uint64_t seed) const = 0;

  BlockCount block_tasks() const {
    const Dimensions g = grid();
    return {g[0] * g[1] * g[2]};
  }
};

// Registered by the kernel's file. make() throws std::invalid_argument if the values do not fit together.
struct KernelEntry : Described {
  // Parameters of a small problem, if possible one whose last block-task is not full.
  std::string small_size;
  std::shared_ptr<const KernelCode> (*make)(const ParameterValues&) = nullptr;
};
using Kernels = Registry<KernelEntry>;

template <typename K>
struct KernelRegistration : Registration<KernelEntry> {
  // `small_size`: parameters as a file would give them; tests run the kernel with them.
  KernelRegistration(std::string name, std::string summary, std::vector<Parameter> parameters,
                     std::string small_size,
                     const std::source_location& where = std::source_location::current())
      : Registration<KernelEntry>(
            KernelEntry{{std::move(name), std::move(summary), std::move(parameters)},
                        std::move(small_size),
                        [](const ParameterValues& values) -> std::shared_ptr<const KernelCode> {
                          return std::make_shared<K>(values);
                        }},
            where) {}
};

}  // namespace gangway

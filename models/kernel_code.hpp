// Kernels that can really run. A workload names one as a kernel's `code`; the simulator needs only its shape,
// the real worlds (hw/) make problems of it: inputs, outputs and block-tasks that compute them.
#pragma once

#include <array>
#include <memory>

#include "models/quantity.hpp"
#include "models/registry.hpp"

namespace gangway {

class HostProblem;  // hw/kernels/host_problem.hpp
class CudaProblem;  // hw/kernels/cuda_problem.hpp

using Dimensions = std::array<std::int64_t, 3>;

// A kernel with its parameters: a problem size. Has no state; may be shared by threads.
class KernelCode {
 public:
  virtual ~KernelCode() = default;
  virtual Dimensions grid() const = 0;   // of the original kernel; a block of it is a block-task
  virtual Dimensions block() const = 0;  // threads
  virtual Bytes memory() const = 0;      // inputs and outputs

  // A problem with inputs drawn from the seed, on CPU cores.
  virtual std::unique_ptr<HostProblem> on_host(std::uint64_t seed) const = 0;
  // The same on the current CUDA device; nothing in a build without CUDA. Throws RunError.
  virtual std::unique_ptr<CudaProblem> on_cuda(std::uint64_t seed) const = 0;

  BlockCount block_tasks() const {
    const Dimensions g = grid();
    return {g[0] * g[1] * g[2]};
  }
};

// Registered by the kernel's file. make() throws std::invalid_argument when the values do not fit together.
struct KernelEntry : Described {
  std::string
      small_size;  // parameters of a small problem whose last block-task is not full, where that can be
  std::shared_ptr<const KernelCode> (*make)(const ParameterValues&) = nullptr;
};
using Kernels = Registry<KernelEntry>;

template <typename K>
struct KernelRegistration : Registration<KernelEntry> {
  // `small_size`: as a file would give the parameters; tests play the kernel with it.
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

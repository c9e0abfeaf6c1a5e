// Problems for CPU cores: one for each kernel of a workload.
#pragma once

#include <memory>
#include <vector>

#include "hw/kernels/host_problem.hpp"
#include "hw/real_device.hpp"

namespace gangway {

class HostMemory : public KernelMemory {
 public:
  // Draws inputs from the seed. A kernel without code throttles, on `workers` cores, for the time of the
  // launched form. Throws RunError without memory.
  HostMemory(const Workload& workload, unsigned workers, PollingForm polling, std::uint64_t seed);

  void poison(KernelIndex kernel) override { problem(kernel).poison(); }
  std::string difference(KernelIndex kernel) override { return problem(kernel).difference(); }

  std::size_t at(KernelIndex kernel) const { return first_kernel_[kernel.client] + kernel.kernel; }
  HostProblem& problem(KernelIndex kernel) const { return *problems_[at(kernel)]; }
  const std::vector<std::uint32_t>& block_tasks() const { return block_tasks_; }  // by at()

 private:
  std::vector<std::size_t> first_kernel_;
  std::vector<std::unique_ptr<HostProblem>> problems_;
  std::vector<std::uint32_t> block_tasks_;
};

}  // namespace gangway

#include "hw/host/host_memory.hpp"

#include "hw/kernels/throttle.hpp"
#include "models/kernel_code.hpp"

namespace gangway {

HostMemory::HostMemory(const Workload& workload, unsigned workers, PollingForm polling, std::uint64_t seed) {
  for (const Client& client : workload.clients) {
    first_kernel_.push_back(problems_.size());
    for (const Kernel& kernel : client.kernels) {
      problems_.push_back((kernel.code ? kernel.code : throttle_like(kernel, workers, polling))
                              ->on_host(seed + problems_.size()));
      block_tasks_.push_back(static_cast<std::uint32_t>(kernel.block_tasks.count));
    }
  }
}

}  // namespace gangway

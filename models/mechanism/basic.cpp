// Every block reads the state in host memory between two block-tasks, and the reads of all blocks go one
// after the other (EffiSha, 6.2; on an H200, too).
#include <algorithm>

#include "models/mechanism/polling.hpp"

namespace gangway {
namespace {

class Basic : public PollingMechanism {
 public:
  using PollingMechanism::PollingMechanism;

  // Blocks go round: a block-task, then a read for which they queue. The slower of the two sets the pace.
  Duration running_time(const Kernel& kernel, const Device& device) const override {
    const std::int64_t tasks = kernel.block_tasks.count, read = device.polls->host.ns;
    const Duration by_blocks =
        kernel.transformed() + Duration{mul_div_ceil(tasks, read, blocks(kernel, device))};
    return std::max(by_blocks, Duration{mul_div_floor(tasks, read, 1)});
  }

 protected:
  Look look(const Kernel& kernel, const Device& device) const override {
    const Duration read = device.polls->host;
    const Duration queue{mul_div_floor(blocks(kernel, device), read.ns, 1)};
    return {{}, std::max(block_task_length(kernel, device) + read, queue)};
  }
};

const MechanismRegistration<Basic> registered_basic{
    "basic", "every block polls the flag in host memory (EffiSha)", PreemptionLevel::block_task,
    PollingMechanism::parameters()};

}  // namespace
}  // namespace gangway

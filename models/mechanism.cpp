#include "models/mechanism.hpp"

#include <algorithm>

namespace gangway {

Duration block_task_length(const Kernel& kernel, const Device& device) {
  if (kernel.block_task_length) return *kernel.block_task_length;
  const std::int64_t resident = std::min(resident_blocks(device, kernel), kernel.block_tasks.count);
  return {mul_div_ceil(kernel.transformed().ns, resident, kernel.block_tasks.count)};
}

}  // namespace gangway

#include "models/mechanism.hpp"

#include <algorithm>
#include <stdexcept>

namespace gangway {

Duration block_task_length(const Kernel& kernel, const Device& device) {
  if (kernel.block_task_length) return *kernel.block_task_length;
  const std::int64_t resident = std::min(resident_blocks(device, kernel), kernel.block_tasks.count);
  return {mul_div_ceil(kernel.transformed().ns, resident, kernel.block_tasks.count)};
}

bool evictions_end_rounds(const Kernel& kernel) {
  return kernel.measured != nullptr && kernel.measured->in_step > 0 && kernel.measured->evictions.empty() &&
         !kernel.eviction_delay;
}

const MechanismEntry& Mechanism::entry() const {
  if (entry_ == nullptr) throw std::logic_error("a mechanism that is not registered");
  return *entry_;
}

const ParameterValues& Mechanism::values() const {
  static_cast<void>(entry());
  return *values_;
}

std::unique_ptr<Mechanism> MechanismEntry::make(const ParameterValues& values) const {
  auto mechanism = create(values);
  mechanism->entry_ = this;
  mechanism->values_ = values;
  return mechanism;
}

}  // namespace gangway

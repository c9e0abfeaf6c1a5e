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

bool evictions_of_another(const Kernel& kernel, const Mechanism& mechanism) {
  if (kernel.measured == nullptr || kernel.measured->mechanism.empty()) return false;
  if (!kernel.eviction_delay && !kernel.useful && kernel.measured->evictions.empty()) return false;
  return !mechanism.entry().evicts_like(
      Mechanisms::named(kernel.measured->mechanism, "measured", "mechanism"));
}

CommandDelays Mechanism::applicable_delays(const Kernel& kernel, const Device& device) const {
  if (!evictions_of_another(kernel, *this)) return delays(kernel, device);
  Kernel other = kernel;
  other.eviction_delay.reset();
  other.useful.reset();
  MeasuredLaunches launches = *kernel.measured;
  launches.evictions.clear();
  launches.near = 1;
  other.measured = std::make_shared<const MeasuredLaunches>(std::move(launches));
  return delays(other, device);
}

const MechanismEntry& Mechanism::entry() const {
  if (entry_ == nullptr) throw std::logic_error("a mechanism that is not registered");
  return *entry_;
}

const ParameterValues& Mechanism::values() const {
  static_cast<void>(entry());
  return *values_;
}

bool MechanismEntry::evicts_like(const MechanismEntry& other) const {
  const auto way = [](const MechanismEntry& m) { return m.evicts_as.empty() ? m.name : m.evicts_as; };
  return way(*this) == way(other);
}

std::unique_ptr<Mechanism> MechanismEntry::make(const ParameterValues& values) const {
  auto mechanism = create(values);
  mechanism->entry_ = this;
  mechanism->values_ = values;
  return mechanism;
}

}  // namespace gangway

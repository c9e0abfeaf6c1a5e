// The FRS paper's mechanism (III-B): the scheduler copies the State flag to device memory on a stream of its
// own, blocks read it before each block-task, and the task counter is copied back when the kernel has left.
#include <algorithm>

#include "models/mechanism.hpp"

namespace gangway {
namespace {

class FlagCopy : public Mechanism {
 public:
  explicit FlagCopy(const ParameterValues& values)
      : useful_(values.number("useful")), scale_(values.number("delay_scale")) {}

  CommandDelays delays(const Kernel& kernel, const Device& device) const override {
    Duration seen = device.commands.evict;
    Duration drain;
    if (kernel.eviction_delay) {
      seen = std::min(seen, *kernel.eviction_delay);
      drain = *kernel.eviction_delay - seen;
    } else {
      drain = kernel.block_task_length.value_or(derived_length(kernel, device));
    }
    seen = scaled_down(seen, scale_);
    drain = scaled_down(drain, scale_);
    return {device.commands.launch,      seen, drain, scaled_down(drain, useful_), device.commands.notice,
            device.commands.pending_work};
  }

 private:
  // Persistent blocks share the block-tasks evenly, so each is busy with one for this long.
  static Duration derived_length(const Kernel& kernel, const Device& device) {
    const std::int64_t resident = std::min(resident_blocks(device, kernel), kernel.block_tasks.count);
    return {mul_div_ceil(kernel.transformed().ns, resident, kernel.block_tasks.count)};
  }

  double useful_;
  double scale_;
};

const MechanismRegistration<FlagCopy> registered{
    "flag-copy",
    "State flag copied to device memory, task counter copied back (FRS)",
    {{"useful",
      "share of a drain that does useful work: 1/2 when blocks are spread evenly over their block-tasks",
      Parameter::Number{0.5, 0, 1}},
     {"delay_scale", "multiplies the time to see the flag and the drain", Parameter::Number{1, 0, 100}}}};

}  // namespace
}  // namespace gangway

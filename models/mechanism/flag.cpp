#include "models/mechanism/flag.hpp"

#include <algorithm>

namespace gangway {
CommandDelays FlagMechanism::delays(const Kernel& kernel, const Device& device) const {
  Duration seen = device.commands.evict;
  Duration drain;
  if (kernel.eviction_delay) {
    seen = std::min(seen, *kernel.eviction_delay);
    drain = *kernel.eviction_delay - seen;
  } else {
    drain = block_task_length(kernel, device);
  }
  seen = scaled_down(seen, scale_);
  drain = scaled_down(drain, scale_);
  CommandDelays delays{device.commands.launch,
                       seen,
                       drain,
                       scaled_down(drain, kernel.useful.value_or(useful_)),
                       device.commands.notice,
                       device.commands.pending_work};
  delays.measured = kernel.measured;
  if (delays.measured != nullptr)
    delays.pending_work = delays.measured->pending_work.value_or(delays.pending_work);
  if (evictions_end_rounds(kernel)) delays.rounds = 1;
  delays.scale = scale_;
  return delays;
}

std::vector<Parameter> FlagMechanism::parameters() {
  return {{"useful", "useful share of a drain; 1/2 if blocks are spread evenly over their block-tasks",
           Parameter::Number{0.5, 0, 1}},
          {"delay_scale", "multiplies the time to see the flag and the drain", Parameter::Number{1, 0, 100}}};
}

}  // namespace gangway

// Kernel slicing (PKM): a launch runs its block-tasks as blocks of the original kernel, a grid of its own.
// Nothing in it can be evicted; a policy yields by launching few block-tasks at once. Slices cost a launch
// each, and their last wave of blocks fills the device only in part.
#include <algorithm>

#include "models/mechanism.hpp"

namespace gangway {
namespace {

using namespace literals;

class Slice : public Mechanism {
 public:
  explicit Slice(const ParameterValues& values) : cost_(values.duration("slice_cost")) {}

  CommandDelays delays(const Kernel& kernel, const Device& device) const override {
    CommandDelays delays;
    delays.launch = device.commands.launch + cost_;
    delays.notice = device.commands.notice;
    delays.wave = resident_blocks(device, kernel);
    delays.measured = kernel.measured;
    return delays;
  }
  Duration running_time(const Kernel& kernel, const Device& device) const override {
    return time_of_original(device, kernel);
  }

 private:
  Duration cost_;
};

const MechanismRegistration<Slice> registered_slice{
    "slice",
    "launches are grids of the original kernel, which run to their end (PKM)",
    PreemptionLevel::slice,
    {{"slice_cost", "cost of each launch, beyond the device's launch command",
      Parameter::Time{0_ns, 0_ns, 1_s}}}};

}  // namespace
}  // namespace gangway

// Share-a-GPU's microkernels (II-D): a launch runs its block-tasks as blocks of the original kernel, as
// slices do; client processes and scheduler tell each other through FIFOs what they are about to do, and
// every kernel call of a program is registered with the scheduler. What these messages take is not printed.
#include "models/mechanism.hpp"

namespace gangway {
namespace {

using namespace literals;

class Microkernel : public Mechanism {
 public:
  explicit Microkernel(const ParameterValues& values)
      : message_(values.duration("message")), registration_(values.duration("registration")) {}

  CommandDelays delays(const Kernel& kernel, const Device& device) const override {
    CommandDelays delays;
    delays.launch = message_ + device.commands.launch;  // LaunchKernel
    delays.notice = device.commands.notice + message_;  // YieldedGPU
    delays.registration = registration_ + message_;     // RequestTimeSlice
    delays.wave = resident_blocks(device, kernel);
    delays.measured = kernel.measured;
    return delays;
  }
  MoveDelays moves() const override { return {message_, message_}; }
  Duration running_time(const Kernel& kernel, const Device& device) const override {
    return time_of_original(device, kernel);
  }

 private:
  Duration message_, registration_;
};

const MechanismRegistration<Microkernel> registered_microkernel{
    "microkernel",
    "launches are grids of the original kernel, by processes that exchange messages with the scheduler "
    "(Share-a-GPU)",
    PreemptionLevel::slice,
    {{"message", "from a process to the scheduler or back", Parameter::Time{50_us, 0_ns, 1_s}},
     {"registration", "of each kernel call of a program with the scheduler",
      Parameter::Time{200_us, 0_ns, 1_s}}}};

}  // namespace
}  // namespace gangway

// As flag-copy, but the flag is written by a stream memory operation, which takes as long, and the last block
// has put the task counter into host memory when the scheduler notices it gone, so reading it takes no time.
#include "models/mechanism/flag.hpp"

namespace gangway {
namespace {

class WriteValue : public FlagMechanism {
 public:
  using FlagMechanism::FlagMechanism;

  CommandDelays delays(const Kernel& kernel, const Device& device) const override {
    CommandDelays delays = FlagMechanism::delays(kernel, device);
    delays.pending_work = {};
    return delays;
  }
};

const MechanismRegistration<WriteValue> registered_write_value{
    "write-value", "State flag written by a stream memory operation, task counter read from host memory",
    PreemptionLevel::block_task, FlagMechanism::parameters(), "flag-copy"};

}  // namespace
}  // namespace gangway

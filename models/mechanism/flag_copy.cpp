// The FRS paper's mechanism (III-B): the scheduler copies the State flag to device memory on a stream of its
// own, blocks read it before each block-task, and the task counter is copied back when the kernel has left.
#include "models/mechanism/flag.hpp"

namespace gangway {
namespace {

const MechanismRegistration<FlagMechanism> registered_flag_copy{
    "flag-copy", "State flag copied to device memory, task counter copied back (FRS)",
    PreemptionLevel::block_task, FlagMechanism::parameters()};

}  // namespace
}  // namespace gangway

// Persistent blocks that claim block-tasks, in kernels whose compiled code was rewritten: they leave as those
// of `flag-copy` do, when the block-tasks end that they are at.
#include "models/mechanism/flag.hpp"

namespace gangway {
namespace {

const MechanismRegistration<FlagMechanism> registered_loop{
    "loop", "rewritten kernels: persistent blocks claim block-tasks and leave between two of them",
    PreemptionLevel::block_task, FlagMechanism::parameters(), "flag-copy"};

}  // namespace
}  // namespace gangway

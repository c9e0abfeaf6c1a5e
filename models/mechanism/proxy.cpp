// A proxy block copies the flag from host to device memory; the others read it before each block-task.
#include "models/mechanism/polling.hpp"

namespace gangway {
namespace {

const MechanismRegistration<ProxyMechanism> registered_proxy{
    "proxy", "one block copies the flag from host memory for the others (EffiSha)",
    PreemptionLevel::block_task, PollingMechanism::parameters()};

}  // namespace
}  // namespace gangway

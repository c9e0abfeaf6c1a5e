// How long the jobs of recorded programs take alone where what was recorded is scaled.
#pragma once

#include "models/device.hpp"
#include "models/recorded.hpp"
#include "models/workload.hpp"

namespace gangway {

// What the client's recording says, with the lengths of its jobs as they are with the device to themselves:
// where kernels or host are scaled, the client is played by itself, at its own pace, each timeline its jobs
// once.
std::shared_ptr<const Recorded> measured_alone(const Client& client, const Device& device);

}  // namespace gangway

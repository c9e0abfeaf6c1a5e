// Time alone of recorded programs with scaled times.
#pragma once

#include "models/device.hpp"
#include "models/recorded.hpp"
#include "models/workload.hpp"

namespace gangway {

// The client's recording with job times for an otherwise empty device. If kernels or host are scaled, plays
// the client alone at its own pace, each timeline's jobs once. Where the file says what a job takes unrecorded,
// finds the host's scale in the same way; InputError if there is none from 0.001 to 10.
std::shared_ptr<const Recorded> measured_alone(const Client& client, const Device& device);

}  // namespace gangway

// Time alone of recorded programs with scaled times.
#pragma once

#include "models/device.hpp"
#include "models/recorded.hpp"
#include "models/workload.hpp"

namespace gangway {

// The client's recording with job times for an otherwise empty device. If kernels or host are scaled, plays
// the client alone at its own pace, each timeline's jobs once. Where it is known what a job takes unrecorded,
// finds the host's scale in the same way: from 0.001 to 10 if the experiment says so, or it is an InputError;
// from 0.25 to 1 if the recording does. In the latter case the median job takes what is said, or 0.5 % more
// than at a scale of 0.25 if that is longer. If what is said is more than 2 % less than at 0.25, a faster
// host does not explain it, and the recording is played as it is.
std::shared_ptr<const Recorded> measured_alone(const Client& client, const Device& device);

// The mean job of the client's recording, played alone with unscaled times on a device that costs nothing. If
// the model suits the program, that is the recorded mean.
Duration job_played_as_recorded(const Client& client);

}  // namespace gangway

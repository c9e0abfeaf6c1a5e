// What real-time worlds cannot play and real devices cannot do, for host and cuda.
#pragma once

#include <string>
#include <vector>

#include "hw/real_device.hpp"

namespace gangway {

// Mechanisms that the device supports: it has their real half and offers what they need.
std::vector<std::string> mechanisms_of(const RealDeviceEntry& device);

// The mechanism's real half. Throws InputError if it has none on the device, needs finer preemption than the
// device offers, or has a parameter that the device cannot obey.
const RealMechanismEntry& real_half(const Mechanism& mechanism, const RealDeviceEntry& device);

// Throws InputError for kernels that no real device can run under a policy: too many block-tasks for the
// protocol, host-thread work, or what the mechanism's simulated half refuses.
void check_kernels(const WorldSetup& setup);

// WorldEntry::check of worlds named after their device: all of the above, and the world's capabilities. Skips
// kernels of policies that leave all to the device.
void check_real_time(const WorldRequest& request, const WorldEntry& world);

}  // namespace gangway

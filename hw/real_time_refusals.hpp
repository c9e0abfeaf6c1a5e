// What worlds in real time cannot play, and what real devices cannot do: host and cuda alike.
#pragma once

#include <string>
#include <vector>

#include "hw/real_device.hpp"

namespace gangway {

// Names of the mechanisms that the device can carry out: it has their real half, and offers what they need.
std::vector<std::string> mechanisms_of(const RealDeviceEntry& device);

// The real half of the mechanism. Throws InputError for one that has no real half on the device, that needs
// finer preemption than the device offers, or that was given a parameter which the device cannot obey.
const RealMechanismEntry& real_half(const Mechanism& mechanism, const RealDeviceEntry& device);

// Throws InputError for kernels that no real device can run as a policy's: more block-tasks than the protocol
// counts, work of the client's host thread, or what the simulated half of the mechanism refuses.
void check_kernels(const WorldSetup& setup);

// WorldEntry::check of worlds whose name is that of their device: all of the above, and what the world is not
// capable of. Kernels of policies that leave all to the device are not looked at.
void check_real_time(const WorldRequest& request, const WorldEntry& world);

}  // namespace gangway

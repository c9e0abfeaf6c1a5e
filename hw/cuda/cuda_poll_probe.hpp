// The probe of what reading an eviction flag costs on a GPU: device number 0, as for the world `cuda`.
#pragma once

#include <memory>

#include "hw/poll_probe.hpp"

namespace gangway {

// While it lives nothing else may run on the device. Throws RunError: no device, a build without CUDA.
std::unique_ptr<PollProbe> make_cuda_poll_probe();

}  // namespace gangway

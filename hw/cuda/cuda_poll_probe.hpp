// Measures the cost of reading an eviction flag on a GPU: device number 0, as in the world `cuda`.
#pragma once

#include <memory>

#include "hw/poll_probe.hpp"

namespace gangway {

// While it exists, nothing else may use the device. RunError: no device, or a build without CUDA.
std::unique_ptr<PollProbe> make_cuda_poll_probe();

}  // namespace gangway

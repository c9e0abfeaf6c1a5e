// The device of the world `cuda`: device number 0 (as set by CUDA_VISIBLE_DEVICES).
#pragma once

#include <memory>

#include "hw/real_device.hpp"

namespace gangway {

// Creates a problem for each kernel; one without `code` throttles for its time. InputError for what
// real_half() refuses. RunError: no device, no memory for the problems, or a build without CUDA.
std::unique_ptr<RealDevice> make_cuda_device(const WorldSetup& setup);
}  // namespace gangway

// The device of the world `cuda`: device number 0 (CUDA_VISIBLE_DEVICES says which one that is).
#pragma once

#include <memory>

#include "hw/real_device.hpp"

namespace gangway {

// With a problem for each kernel of the workload; one without `code` throttles for as long. Throws
// InputError for what real_half() refuses, RunError: no device, no memory for the problems, a build without
// CUDA.
std::unique_ptr<RealDevice> make_cuda_device(const WorldSetup& setup);
}  // namespace gangway

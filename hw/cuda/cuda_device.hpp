// The device of the world `cuda`: device number 0 (CUDA_VISIBLE_DEVICES says which one that is).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw/real_device.hpp"

namespace gangway {

inline constexpr const char* kBuiltWithoutCuda =
    "this program was built without CUDA (no toolkit of 12 or newer was found)";

// With a problem for each kernel of the workload; one without `code` throttles for as long. Throws RunError:
// no device, no memory for the problems, a mechanism that real GPUs do not have, a build without CUDA.
std::unique_ptr<RealDevice> make_cuda_device(const WorldSetup& setup);

// Those that a GPU can carry out.
std::vector<std::string> cuda_mechanisms();

}  // namespace gangway

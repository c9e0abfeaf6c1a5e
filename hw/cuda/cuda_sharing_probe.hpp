// Measures how a GPU shares its time between contexts: device number 0, as in the world `cuda`.
#pragma once

#include <memory>

#include "hw/sharing_probe.hpp"

namespace gangway {

// Throws RunError: no device, a build without CUDA.
std::unique_ptr<SharingProbe> make_cuda_sharing_probe();

}  // namespace gangway

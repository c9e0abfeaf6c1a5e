// Native clients on GPU 0 in this process. Kernels with code run in original form. Others keep their place
// for the time in the setup, and record when and where.
#pragma once

#include "hw/native/player.hpp"

namespace gangway {

// Throws InputError for kernels that the GPU cannot hold, RunError without a usable GPU.
std::unique_ptr<NativePlayer> make_native_cuda_player(const NativeSetup& setup);

}  // namespace gangway

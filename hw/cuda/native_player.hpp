// Native clients on a GPU, number 0, in this process. Kernels with code are original ones; all others keep
// their place for as long as the setup says and record when and where that was.
#pragma once

#include "hw/native/player.hpp"

namespace gangway {

// Throws InputError for kernels that the GPU cannot hold, RunError without a usable GPU.
std::unique_ptr<NativePlayer> make_native_cuda_player(const NativeSetup& setup);

}  // namespace gangway

// Native clients on a GPU: each has a stream, and all operations of a job are issued at its release. Blocks
// keep their place for as long as the file says and record when and where that was. One run at a time.
#pragma once

#include <memory>

#include "models/world.hpp"

namespace gangway {

// Throws InputError for a workload that it cannot play (hw/native/plan.hpp), RunError without a usable GPU.
std::unique_ptr<World> make_native_cuda_world(const WorldSetup& setup);

}  // namespace gangway

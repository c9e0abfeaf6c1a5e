// Native clients on a real device: each has a stream, and all operations of a job are issued at its release.
// In this process, or in one for each context. One run at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw/native/player.hpp"
#include "models/world.hpp"

namespace gangway {

// Throws InputError for a workload that it cannot play (hw/native/plan.hpp), RunError where its device cannot
// be used. `make` makes who plays in this process, `command` starts one that calls play_as_asked().
std::unique_ptr<World> make_native_world(const WorldSetup& setup, MakeNativePlayer make,
                                         std::vector<std::string> (*command)());

}  // namespace gangway

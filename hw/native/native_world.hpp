// Native clients on a real device: each has a stream, and all operations of a job are issued at its release,
// from this process or from one per context. One run at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw/native/player.hpp"
#include "models/world.hpp"

namespace gangway {

// InputError for a workload that it cannot play (hw/native/plan.hpp); RunError if its device is unusable.
// `make` creates this process's player; `command` starts a process that calls play_as_asked().
std::unique_ptr<World> make_native_world(const WorldSetup& setup, MakeNativePlayer make,
                                         std::vector<std::string> (*command)());

}  // namespace gangway

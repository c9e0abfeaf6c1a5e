// Clients that are programs.
#pragma once

#include <memory>

#include "models/command.hpp"
#include "models/input/field.hpp"

namespace gangway {

// The `command` of a client: [PROGRAM, ARGUMENT...], or {run: that, jobs: nvtx:NAME, skip: 20, folder: DIR}
// (experiments/README.md). It works in the folder of the file in which it stands, or in DIR seen from there.
// Throws InputError.
std::shared_ptr<const Command> read_command(const Field& field);

}  // namespace gangway

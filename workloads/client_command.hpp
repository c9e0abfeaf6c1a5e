// Clients that are programs.
#pragma once

#include <memory>

#include "models/command.hpp"
#include "models/input/field.hpp"

namespace gangway {

// A client's `command`: [PROGRAM, ARGUMENT...], or {run: that, jobs: nvtx:NAME, skip: 20, folder: DIR}
// (experiments/README.md). Its working directory is the folder of the file that contains it, or DIR relative
// to that. Throws InputError.
std::shared_ptr<const Command> read_command(const Field& field);

}  // namespace gangway

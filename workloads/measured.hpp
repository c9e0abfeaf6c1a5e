// Reads a kernel's measured launches from a workload file.
#pragma once

#include <memory>

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

// `kernel` must have its block-tasks and time. Throws InputError.
std::shared_ptr<const MeasuredLaunches> read_measured(const Field& field, const Kernel& kernel);

}  // namespace gangway

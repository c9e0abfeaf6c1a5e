// What a file says of a kernel's launches as they were measured.
#pragma once

#include <memory>

#include "models/input/field.hpp"
#include "models/workload.hpp"

namespace gangway {

// `kernel`: with its block-tasks and time. Throws InputError.
std::shared_ptr<const MeasuredLaunches> read_measured(const Field& field, const Kernel& kernel);

}  // namespace gangway
